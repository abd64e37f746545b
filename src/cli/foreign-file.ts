import { existsSync } from 'node:fs'
import { ModelyardError } from '../base/errors.ts'

const PATH = /^[.~]{0,2}\/|[\\/]|\.gguf$/

/**
 * A server runs the models of its own configuration: a file that somebody names beside it is none of them. Other errors stay as they
 * are. Names with a slash that the hub has (`org/repo`) are no files, unless they are there.
 */
export function tellOfForeignFile(
  error: unknown,
  url: string,
  exists: (path: string) => boolean = existsSync,
): unknown {
  if (!(error instanceof ModelyardError) || error.code !== 'model_not_found') return error
  const model = error.details['model']
  if (typeof model !== 'string' || !PATH.test(model)) return error
  const isThere = exists(model)
  if (!isThere && !/^[.~]{0,2}\/|\.gguf$/.test(model)) return error
  const found = isThere
    ? `The server at ${url} knows only its own models, and ${model} is none of them.`
    : `There is no file ${model}, and the server at ${url} has no model of this name.`
  const whatNow = isThere
    ? ' Add it to its configuration (models: {my-model: {file: …}}), or use it beside the server: MODELYARD_HOME=./another-home modelyard …'
    : ''
  return new ModelyardError('model_not_found', found + whatNow, { details: error.details, cause: error })
}
