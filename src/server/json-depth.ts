import { ModelyardError } from '../base/errors.ts'

/** Refuses values nested deeper than `depth`, which whoever walks through them later would pay for with its stack. */
export function checkJsonDepth(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth <= 0) throw new ModelyardError('invalid_request', 'The body is nested too deeply.')
  if (Array.isArray(value)) {
    for (const entry of value as unknown[]) checkJsonDepth(entry, depth - 1)
    return
  }
  for (const name in value) checkJsonDepth((value as Record<string, unknown>)[name], depth - 1)
}
