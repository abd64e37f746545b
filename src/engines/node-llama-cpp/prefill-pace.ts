/** Milliseconds that evaluating one piece of a prompt should take: an abort waits no longer for the slot (BR-13). */
const TARGET = 190
const FIRST = 16
const LEAST = 16

/**
 * How much of a prompt is evaluated at a time. One for a model: the speed it measures is that of all slots together, and what one may
 * use is divided by how many are at it.
 */
export class PrefillPace {
  readonly #most: number
  #active = 0
  /** Tokens per millisecond, of all slots together. */
  #speed: number | undefined

  constructor(batchSize: number) {
    this.#most = batchSize
  }

  enter(): void {
    this.#active++
  }

  leave(): void {
    this.#active--
  }

  /** Tokens to evaluate next. */
  get piece(): number {
    const share = this.#speed === undefined ? FIRST : (this.#speed * TARGET) / Math.max(1, this.#active)
    const steps = Math.round(share / LEAST) * LEAST
    return Math.min(this.#most, Math.max(LEAST, steps))
  }

  record(tokens: number, milliseconds: number): void {
    const speed = (tokens * Math.max(1, this.#active)) / Math.max(0.1, milliseconds)
    this.#speed = this.#speed === undefined ? speed : (this.#speed + speed) / 2
  }
}
