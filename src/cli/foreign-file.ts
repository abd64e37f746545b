import { existsSync } from 'node:fs'
import { ModelyardError } from '../base/errors.ts'
import { parseSource } from '../models/source.ts'

/** Nothing else is written like this; `org/repo` may be the hub's. */
const ONLY_A_FILE = /^(~|\.{1,2})?[/\\]|\.gguf$/i

/**
 * A server runs the models of its own configuration: a file that somebody names beside it is none of them. Other errors stay as they
 * are.
 */
export function tellOfForeignFile(
  error: unknown,
  url: string,
  exists: (path: string) => boolean = existsSync,
): unknown {
  if (!(error instanceof ModelyardError) || error.code !== 'model_not_found') return error
  const model = error.details['model']
  const path = typeof model === 'string' ? fileOf(model) : undefined
  if (typeof model !== 'string' || path === undefined) return error
  if (exists(path))
    return foreign(
      error,
      `The server at ${url} knows only its own models, and ${model} is none of them. ${WHAT_NOW}`,
    )
  if (!ONLY_A_FILE.test(model)) return error
  return foreign(error, `There is no file ${model}, and the server at ${url} has no model of this name.`)
}

const WHAT_NOW =
  'Add it to its configuration (models: {my-model: {file: …}}), or use it beside the server: MODELYARD_HOME=./another-home modelyard …'

function foreign(cause: ModelyardError, message: string): ModelyardError {
  return new ModelyardError('model_not_found', message, { details: cause.details, cause })
}

function fileOf(name: string): string | undefined {
  try {
    const source = parseSource(name)
    return source.kind === 'file' ? source.path : undefined
  } catch {
    return undefined
  }
}
