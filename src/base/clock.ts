import type { StopSignal } from './cancellation.ts'

/** A timer that can be given up. Cancelling twice, or after it fired, is harmless. */
export interface Timer {
  cancel(): void
}

/** Time is read and waited for through this interface only, so that tests decide what time it is. */
export interface Clock {
  /** Milliseconds on the monotonic clock: for deadlines and durations. Unaffected by changes of the wall clock. */
  now(): number
  /** Milliseconds since 1970: for records that people read. Never for deadlines. */
  wallTime(): number
  /** Calls back once after `milliseconds`. The timer does not keep the process alive. */
  setTimer(milliseconds: number, callback: () => void): Timer
}

/** Longest delay node's timers can hold, 24.8 days: with a longer one they fire after 1 ms. */
const LONGEST_DELAY = 2 ** 31 - 1

export class SystemClock implements Clock {
  now(): number {
    return performance.now()
  }

  wallTime(): number {
    return Date.now()
  }

  setTimer(milliseconds: number, callback: () => void): Timer {
    let handle: NodeJS.Timeout
    const wait = (left: number): void => {
      const delay = Math.min(Math.max(0, left), LONGEST_DELAY)
      handle = setTimeout(left > LONGEST_DELAY ? () => wait(left - delay) : callback, delay)
      handle.unref()
    }
    wait(milliseconds)
    return { cancel: () => clearTimeout(handle) }
  }
}

/** Work that must be ended before the process may end by itself; timers of a clock alone do not keep it alive. Cancelling twice is harmless. */
export function keepProcessAlive(): Timer {
  const handle = setInterval(() => undefined, 2 ** 30)
  return { cancel: () => clearInterval(handle) }
}

interface ManualTimer {
  due: number
  callback: () => void
}

/** A clock that stands still until a test moves it; timers fire in order of their due time. */
export class ManualClock implements Clock {
  #now: number
  readonly #timers = new Set<ManualTimer>()

  constructor(start = 0) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  wallTime(): number {
    return this.#now
  }

  setTimer(milliseconds: number, callback: () => void): Timer {
    const timer = { due: this.#now + Math.max(0, milliseconds), callback }
    this.#timers.add(timer)
    return { cancel: () => this.#timers.delete(timer) }
  }

  /** Moves time forward, firing what falls due on the way. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds
    for (let next = this.#nextDue(end); next !== undefined; next = this.#nextDue(end)) {
      this.#now = Math.max(this.#now, next.due)
      this.#timers.delete(next)
      next.callback()
    }
    this.#now = end
  }

  /** Moves time at a stroke: what falls due on the way fires with the next `advance`, as after a sleep of the machine. */
  jump(milliseconds: number): void {
    this.#now += milliseconds
  }

  #nextDue(end: number): ManualTimer | undefined {
    let first: ManualTimer | undefined
    for (const timer of this.#timers) {
      if (timer.due <= end && (first === undefined || timer.due < first.due)) first = timer
    }
    return first
  }
}

/** Resolves after `milliseconds`, or rejects with the signal's reason as soon as it fires. Leaves no listener behind. */
export async function sleep(clock: Clock, milliseconds: number, signal?: StopSignal): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      timer.cancel()
      reject(signal?.reason)
    }
    const timer = clock.setTimer(milliseconds, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Waits for the work, but no longer than so many milliseconds; how the work fares is nobody's affair here. */
export async function waitAtMost(clock: Clock, milliseconds: number, work: Promise<unknown>): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = clock.setTimer(milliseconds, resolve)
    const end = (): void => {
      timer.cancel()
      resolve()
    }
    work.then(end, end)
  })
}
