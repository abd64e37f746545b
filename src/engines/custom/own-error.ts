import { ModelyardError, toModelyardError, type SerializedError } from '../../base/errors.ts'

/** What an engine of one's own threw. An error of ours stays what it is, also of another copy of this package. */
export function ownError(engine: string, thrown: unknown): ModelyardError {
  if (thrown instanceof ModelyardError) return thrown
  if (isForeignCopy(thrown)) return ModelyardError.fromJSON(thrown.toJSON())
  const { message, cause } = toModelyardError(thrown, 'engine_failed')
  return new ModelyardError('engine_failed', `The engine "${engine}" failed: ${message}`, { cause })
}

function isForeignCopy(thrown: unknown): thrown is { toJSON: () => SerializedError } {
  return thrown instanceof Error && thrown.name === 'ModelyardError' && 'toJSON' in thrown
}
