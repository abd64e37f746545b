import { toModelyardError, type ErrorCode, type SerializedError } from '../../base/errors.ts'

/** An error as plain data, whatever its details held: what cannot cross a process border is left out. */
export function plainError(thrown: unknown, code: ErrorCode): SerializedError {
  const { details, ...rest } = toModelyardError(thrown, code).toJSON()
  return { ...rest, details: plainDetails(details) }
}

function plainDetails(details: Record<string, unknown>): Record<string, unknown> {
  const plain: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(details)) {
    try {
      plain[name] = structuredClone(value)
    } catch {
      // A function or a handle: of no use on the other side.
    }
  }
  return plain
}
