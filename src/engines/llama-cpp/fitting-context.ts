/** Contexts are allocated in steps. */
const GRANULE = 256
/** Shorter ones are of no use in a conversation: then the usual one is planned, and refused with the numbers. */
const LEAST = 512

/**
 * M3: the largest context up to `most` that fits, for models whose configuration asks for none. `fits` is asked of sizes and must be
 * true of all below one that fits.
 */
export function fittingContext(most: number, fits: (contextSize: number) => boolean): number {
  if (most <= LEAST || fits(most) || !fits(LEAST)) return most
  let [low, high] = [LEAST / GRANULE, Math.ceil(most / GRANULE)]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (fits(middle * GRANULE)) low = middle
    else high = middle
  }
  return low * GRANULE
}
