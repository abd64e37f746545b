/**
 * Milliseconds that evaluating one piece of a prompt should take: other runs get no token as long, and after an abort the slot is not
 * free before it is over (BR-13; the run itself ends at once).
 */
const TARGET = 190
/** The same when nobody else waits for a token: larger pieces are evaluated up to a fifth faster. */
const TARGET_ALONE = 400
const FIRST = 16
const LEAST = 16

/**
 * How much of a prompt is evaluated at a time. One for a model: the speed it measures is that of all slots together, and what one may
 * use is divided by how many are at it.
 */
export class PrefillPace {
  readonly #most: number
  #runs = 0
  #evaluating = 0
  /** Tokens per millisecond, of all slots together. */
  #speed: number | undefined

  constructor(batchSize: number) {
    this.#most = batchSize
  }

  /** Counts a run on any slot while the work goes on. */
  async during<Outcome>(work: () => Promise<Outcome>): Promise<Outcome> {
    this.#runs++
    try {
      return await work()
    } finally {
      this.#runs--
    }
  }

  enter(): void {
    this.#evaluating++
  }

  leave(): void {
    this.#evaluating--
  }

  /** Tokens to evaluate next. */
  get piece(): number {
    const target = this.#runs > 1 ? TARGET : TARGET_ALONE
    const share = this.#speed === undefined ? FIRST : (this.#speed * target) / Math.max(1, this.#evaluating)
    const steps = Math.round(share / LEAST) * LEAST
    return Math.min(this.#most, Math.max(LEAST, steps))
  }

  record(tokens: number, milliseconds: number): void {
    const speed = (tokens * Math.max(1, this.#evaluating)) / Math.max(0.1, milliseconds)
    this.#speed = this.#speed === undefined ? speed : (this.#speed + speed) / 2
  }
}
