import type { Clock, Timer } from './clock.ts'

/** Milliseconds between looks at the time while nobody else asks. */
const LOOK_EVERY = 15_000
/** A gap of more than this between two looks is no busy machine: everything stood still (a laptop asleep, a debugger). */
const LONGEST_GAP = 60_000
/** Timers may ring so much before their time. */
const EARLY = 2

/**
 * A clock that stands still while the machine sleeps (M21), also where the system's own goes on: a gap in which nothing at all could happen is
 * left out, so that nobody's deadline or idle time is over just because a lid was closed.
 */
export class SteadyClock implements Clock {
  readonly #clock: Clock
  #seen: number
  /** Milliseconds that were slept through. */
  #slept = 0
  #timer: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#seen = clock.now()
    this.#look()
  }

  now(): number {
    const now = this.#clock.now()
    const gap = now - this.#seen
    // At most one look was due before it fell asleep.
    if (gap > LONGEST_GAP) this.#slept += gap - LOOK_EVERY
    this.#seen = now
    return now - this.#slept
  }

  wallTime(): number {
    return this.#clock.wallTime()
  }

  setTimer(milliseconds: number, callback: () => void): Timer {
    const due = this.now() + milliseconds
    let timer: Timer
    const ring = (): void => {
      const left = due - this.now()
      if (left > EARLY) timer = this.#clock.setTimer(left, ring)
      else callback()
    }
    timer = this.#clock.setTimer(milliseconds, ring)
    return { cancel: () => timer.cancel() }
  }

  /** No more looks; time goes on. */
  close(): void {
    this.#timer?.cancel()
  }

  #look(): void {
    this.now()
    this.#timer = this.#clock.setTimer(LOOK_EVERY, () => this.#look())
  }
}
