import type { Clock } from './clock.ts'

/** One of many waits of the same length. */
export interface Wait {
  readonly onDue: () => void
  /** On the clock, in milliseconds. */
  due: number
}

/**
 * Waits that all take the same time, such as one of each request, on a single timer: to begin and end one costs its place in a set, not a timer's
 * three calls into Node. The first of them is always the next that is due.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #length: number
  readonly #waits = new Set<Wait>()
  #isArmed = false

  /** @param length milliseconds of each wait, more than 0 */
  constructor(clock: Clock, length: number) {
    this.#clock = clock
    this.#length = length
  }

  /** Calls back once when the time is over, unless the wait is ended before that. */
  begin(onDue: () => void): Wait {
    const wait: Wait = { onDue, due: 0 }
    this.renew(wait)
    return wait
  }

  /** All of its time from now on, also of one that was over. */
  renew(wait: Wait): void {
    this.#waits.delete(wait)
    wait.due = this.#clock.now() + this.#length
    this.#waits.add(wait)
    if (!this.#isArmed) this.#arm(wait.due)
  }

  /** Twice is harmless. */
  end(wait: Wait): void {
    this.#waits.delete(wait)
  }

  #arm(due: number): void {
    this.#isArmed = true
    this.#clock.setTimer(due - this.#clock.now(), this.#ring)
  }

  /** With nobody left it is armed again by the next who comes: most waits are over long before their time. */
  readonly #ring = (): void => {
    const now = this.#clock.now()
    for (const wait of this.#waits) {
      if (wait.due > now) return this.#arm(wait.due)
      this.#waits.delete(wait)
      wait.onDue()
    }
    this.#isArmed = false
  }
}
