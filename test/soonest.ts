/** Milliseconds within which a run is over, and its slot free, once nobody wants it any more (BR-13). */
export const AT_ONCE = 250

/** One of them is not disturbed. */
const ATTEMPTS = 5

/**
 * Lets it happen until it was quick enough: a machine that is busy with something else may be late now and then, the product may not.
 * Whatever else an attempt expects must hold each time.
 * @param limit milliseconds
 * @returns the milliseconds of the quickest
 */
export async function soonest(attempt: () => Promise<number>, limit: number = AT_ONCE): Promise<number> {
  let quickest = Infinity
  for (let count = 0; count < ATTEMPTS && quickest >= limit; count++) {
    quickest = Math.min(quickest, await attempt())
  }
  return quickest
}
