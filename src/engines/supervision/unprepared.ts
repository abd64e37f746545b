import { ModelyardError, toModelyardError } from '../../base/errors.ts'
import { loadFailed } from '../engine.ts'

/** What went wrong with a server that listened and could not be made ready, as a load that failed (R11); an error of ours stays as it is. */
export function unprepared(what: string, error: unknown): ModelyardError {
  const { code, message } = toModelyardError(error, 'engine_failed')
  if (code !== 'engine_failed' && code !== 'internal') return error as ModelyardError
  return loadFailed('crash', `${what}: ${message}`, error)
}
