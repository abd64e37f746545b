import assert from 'node:assert/strict'

/** Milliseconds in which an aborted run must have ended, and its slot be free (BR-13). */
export const ABORT_LIMIT = 250

/** One of them is not disturbed. */
const ATTEMPTS = 5

/**
 * Lets it happen until it was quick enough: a machine that is busy with something else may be late now and then, the product may not.
 * Whatever else an attempt asserts must hold each time.
 * @param limit milliseconds
 * @returns the milliseconds of the quickest
 */
export async function soonest(attempt: () => Promise<number>, limit: number = ABORT_LIMIT): Promise<number> {
  let quickest = Infinity
  for (let count = 0; count < ATTEMPTS && quickest > limit; count++) {
    quickest = Math.min(quickest, await attempt())
  }
  return quickest
}

/** Holds a limit by the quickest of a few attempts. @throws AssertionError with its milliseconds */
export async function assertInTime(
  attempt: () => Promise<number>,
  limit: number = ABORT_LIMIT,
): Promise<void> {
  const took = await soonest(attempt, limit)
  assert(took <= limit, `it took ${took} ms`)
}
