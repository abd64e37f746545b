import { ModelyardError } from '../base/errors.ts'

/** A source that cannot be read, with what was expected instead. */
export function wrongSource(text: string, what: string): ModelyardError {
  return new ModelyardError('config_invalid', `"${text}" is not a source of a model. ${what}`)
}
