import type { Clock, Timer } from '../../base/clock.ts'
import type { FromWorker } from './protocol.ts'

/** Puts messages on the wire in one write, and calls back when the next may follow. */
export type Write = (messages: FromWorker[], written: () => void) => void

interface Waiting {
  message: FromWorker
  sent: (() => void) | undefined
}

/**
 * Milliseconds from one write of text to the next: a screen shows no more anyway. Each write wakes the server and its client, which take
 * 0.2 to 0.4 ms of the cores that the engine counts on: without this a model of 140 tokens/s loses 3 % of its speed.
 */
const FRAME = 16

/**
 * The worker's way out. A message leaves at once when nothing has left for a while; text that comes sooner, such as the tokens of all
 * slots of one decode step or of a very fast model, leaves together. Everything but text takes what waits with it at once.
 */
export class Channel {
  readonly #write: Write
  readonly #clock: Clock
  #waiting: Waiting[] = []
  #writing = false
  #urgent = false
  #nextFrame = -Infinity
  #timer: Timer | undefined

  constructor(write: Write, clock: Clock) {
    this.#write = write
    this.#clock = clock
  }

  /** `sent` is called when the message has been written. */
  send(message: FromWorker, sent?: () => void): void {
    this.#waiting.push({ message, sent })
    this.#urgent ||= message.type !== 'parts'
    if (!this.#writing) this.#flushInTime()
  }

  #flushInTime(): void {
    const left = this.#nextFrame - this.#clock.now()
    if (this.#urgent || left <= 0) this.#flush()
    else this.#timer ??= this.#clock.setTimer(left, () => this.#flush())
  }

  #flush(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const leaving = this.#waiting
    this.#waiting = []
    this.#urgent = false
    this.#writing = true
    this.#nextFrame = this.#clock.now() + FRAME
    this.#write(
      leaving.map(({ message }) => message),
      () => this.#written(leaving),
    )
  }

  #written(left: Waiting[]): void {
    for (const { sent } of left) sent?.()
    this.#writing = false
    if (this.#waiting.length > 0) this.#flushInTime()
  }
}
