import type { Clock, Timer } from '../base/clock.ts'

/** Milliseconds between two steps that somebody can see. */
const VISIBLE = 100
/** The same where less than a per cent was added: signs of life, and nothing to see (M10). */
const ALIVE = 1000

interface ToldStep {
  readonly at: number
  readonly fraction: number
}

/** Milliseconds until a step may be told after the last one that was; 0 or less = at once. */
function waitAfter({ at, fraction: told }: ToldStep, now: number, fraction: number): number {
  const isVisible = Math.floor(fraction * 100) !== Math.floor(told * 100)
  return at + (isVisible ? VISIBLE : ALIVE) - now
}

/**
 * Which steps of a load are told: the first one and the last one always, of those between as many as can be seen. Engines report each tensor,
 * hundreds in a second, and each step that is told is an event and a decision.
 */
export class ProgressSteps {
  readonly #clock: Clock
  readonly #tell: (fraction: number) => void
  #told: ToldStep | undefined
  /** The newest one, for when it may be told. */
  #kept: { readonly fraction: number; readonly timer: Timer } | undefined

  constructor(clock: Clock, tell: (fraction: number) => void) {
    this.#clock = clock
    this.#tell = tell
  }

  /** @param fraction of what is to be loaded, 0…1 */
  take(fraction: number): void {
    this.#forget()
    const wait = this.#told === undefined ? 0 : waitAfter(this.#told, this.#clock.now(), fraction)
    if (wait <= 0) return this.#tellNow(fraction)
    this.#kept = { fraction, timer: this.#clock.setTimer(wait, () => this.end()) }
  }

  /** No more will come, for now at least: what was kept is told. */
  end(): void {
    const kept = this.#kept
    this.#forget()
    if (kept !== undefined && kept.fraction !== this.#told?.fraction) this.#tellNow(kept.fraction)
  }

  #tellNow(fraction: number): void {
    this.#told = { at: this.#clock.now(), fraction }
    this.#tell(fraction)
  }

  #forget(): void {
    this.#kept?.timer.cancel()
    this.#kept = undefined
  }
}
