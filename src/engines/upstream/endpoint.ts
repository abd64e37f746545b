import type { Clock } from '../../base/clock.ts'

/** Failures in a row after which an endpoint is left alone for a while. */
const TOLERATED = 3
const FIRST_REST = 1000
const LONGEST_REST = 60_000

/** One place where the model can be asked: how busy it is, and whether it is worth asking (a circuit breaker). */
export class Endpoint {
  readonly url: string
  readonly #clock: Clock
  #busy = 0
  #failures = 0
  #restsUntil = -Infinity

  constructor(url: string, clock: Clock) {
    this.url = url.replace(/\/+$/, '')
    this.#clock = clock
  }

  get busy(): number {
    return this.#busy
  }

  /** Milliseconds until it is worth another try; 0 = now. After its rest one request may try; its outcome decides. */
  get rest(): number {
    return Math.max(0, this.#restsUntil - this.#clock.now())
  }

  begin(): void {
    this.#busy++
    if (this.#failures >= TOLERATED) this.#sitOut()
  }

  end(): void {
    this.#busy--
  }

  succeeded(): void {
    this.#failures = 0
    this.#restsUntil = -Infinity
  }

  failed(): void {
    this.#failures++
    if (this.#failures >= TOLERATED) this.#sitOut()
  }

  /** Twice as long each time. While one request tries after the rest, others stay away. */
  #sitOut(): void {
    const rest = Math.min(LONGEST_REST, FIRST_REST * 2 ** (this.#failures - TOLERATED))
    this.#restsUntil = this.#clock.now() + rest
  }
}

/**
 * Where to ask next: the one that has this conversation already, else the least busy one; those that rest only when nobody else is left
 * (undefined = all rest).
 */
export function chooseEndpoint(
  endpoints: readonly Endpoint[],
  tried: ReadonlySet<Endpoint>,
  last: Endpoint | undefined,
): Endpoint | undefined {
  let best: Endpoint | undefined
  for (const endpoint of endpoints) {
    if (endpoint.rest > 0) continue
    if (best === undefined || goesBefore(endpoint, best, tried, last)) best = endpoint
  }
  return best
}

function goesBefore(
  one: Endpoint,
  other: Endpoint,
  tried: ReadonlySet<Endpoint>,
  last: Endpoint | undefined,
): boolean {
  if (tried.has(one) !== tried.has(other)) return tried.has(other)
  if (one === last || other === last) return one === last
  return one.busy < other.busy
}
