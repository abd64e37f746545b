import type { Clock, Timer } from '../../base/clock.ts'
import type { WorkerDeadlines } from './worker-deadlines.ts'

const INTERVAL = 1000

export interface Watched {
  clock: Clock
  deadlines: Pick<WorkerDeadlines, 'wake' | 'silence' | 'stall'>
  sendPing: () => void
  /** True when every run waits for its reader: then standing still is not the worker's fault. */
  heldByReaders: () => boolean
  /** Ends the worker; `reason` is a sentence for people. */
  end: (reason: string) => void
}

/**
 * Watches a worker while it has work (M19): each second a ping, and the time since the last movement. Time is counted in looks,
 * not by the clock: when the server itself stood still (a debugger, a laptop asleep), nobody is accused for it (M21).
 */
export class WorkerWatch {
  readonly #watched: Watched
  #timer: Timer | undefined
  #unanswered = 0
  #still = 0
  #pinged = false
  /** It was idle and has not said a word since it has work. */
  #waking = false

  constructor(watched: Watched) {
    this.#watched = watched
  }

  /** Work is about to be sent, or one more piece of it. An idle worker is asked first whether it is there (R12). */
  begin(): void {
    if (this.#timer !== undefined) return
    this.#unanswered = 0
    this.#still = 0
    this.#waking = true
    this.#pinged = true
    this.#schedule()
    this.#watched.sendPing()
  }

  /** Nothing is left to do: idle workers are not watched, their exit is seen anyway. */
  end(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** Any message came. */
  heard(): void {
    this.#unanswered = 0
    this.#pinged = false
    this.#waking = false
  }

  /** A token came or a prefill moved. */
  moved(): void {
    this.#still = 0
  }

  #schedule(): void {
    this.#timer = this.#watched.clock.setTimer(INTERVAL, () => this.#look())
  }

  #look(): void {
    const { deadlines, end, sendPing, heldByReaders } = this.#watched
    this.#schedule()
    this.#still = heldByReaders() ? 0 : this.#still + 1
    if (this.#pinged) this.#unanswered++
    if (this.#waking && this.#unanswered * INTERVAL >= deadlines.wake)
      return end(`it was idle and did not answer for ${this.#unanswered} s when it got work`)
    if (this.#unanswered * INTERVAL >= deadlines.silence)
      return end(`it did not answer for ${this.#unanswered} s while it had work`)
    if (this.#still * INTERVAL >= deadlines.stall) return end(`a run made no progress for ${this.#still} s`)
    this.#pinged = true
    sendPing()
  }
}
