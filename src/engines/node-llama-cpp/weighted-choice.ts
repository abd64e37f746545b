import type { ResolvedSampling } from '../llama-cpp/resolve-sampling.ts'

type Candidate = [token: number, probability: number]

/**
 * Picks a token from the whole distribution in the order llama.cpp has it: top-k, top-p, min-p, then temperature. Used where
 * log-probabilities are asked for, because the engine only tells those of what its own filters left over.
 */
export class WeightedChoice {
  readonly #sampling: ResolvedSampling
  #state: number

  constructor(sampling: ResolvedSampling) {
    this.#sampling = sampling
    this.#state = sampling.seed | 0
  }

  /** @param distribution the likeliest first, sum 1 */
  pick(distribution: ReadonlyMap<number, number>): number {
    const candidates = filtered(distribution, this.#sampling)
    const { temperature } = this.#sampling
    const [best = [0, 1]] = candidates
    if (temperature === 0) return best[0]
    // Relative to the likeliest, so that small temperatures do not end in 0.
    const weights = candidates.map(([, probability]) => (probability / best[1]) ** (1 / temperature))
    const threshold = this.#random() * weights.reduce((sum, weight) => sum + weight, 0)
    let reached = 0
    const index = weights.findIndex((weight) => (reached += weight) > threshold)
    return (candidates[index] ?? best)[0]
  }

  /** mulberry32 */
  #random(): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function filtered(
  distribution: ReadonlyMap<number, number>,
  { topK, topP, minP }: ResolvedSampling,
): Candidate[] {
  const most = topK === 0 ? distribution.size : topK
  const first: Candidate[] = []
  let sum = 0
  for (const candidate of distribution) {
    if (first.length >= most) break
    first.push(candidate)
    sum += candidate[1]
  }
  const least = minP * (first[0]?.[1] ?? 0)
  const kept: Candidate[] = []
  let reached = 0
  for (const candidate of first) {
    if (kept.length > 0 && (reached >= topP * sum || candidate[1] < least)) break
    kept.push(candidate)
    reached += candidate[1]
  }
  return kept
}
