import { abortError } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import type { Part, PartStream, Result } from '../../tasks/part.ts'
import { Outbox } from './outbox.ts'
import { PART_WINDOW, type FromWorker } from './protocol.ts'
import { plainError } from './plain-error.ts'

export type Send = (message: FromWorker, sent?: () => void) => void

/** A run as the worker sees it: pulls parts from the engine as long as the reader has credit, and always says how it ended. */
export class HostedRun {
  readonly #id: number
  readonly #send: Send
  readonly #abort = new AbortController()
  readonly #outbox: Outbox
  #credit = PART_WINDOW
  #wake: (() => void) | undefined

  constructor(id: number, send: Send, clock: Clock) {
    this.#id = id
    this.#send = send
    this.#outbox = new Outbox((parts, made, sent) => send({ type: 'parts', id, parts, made }, sent), clock)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  grant(parts: number): void {
    this.#credit += parts
    this.#wake?.()
  }

  cancel(reason?: Error): void {
    this.#abort.abort(reason)
    this.#wake?.()
  }

  /** Never rejects. */
  async pump(start: () => PartStream): Promise<void> {
    try {
      const result = await this.#drain(start())
      this.#outbox.flush()
      this.#send({ type: 'result', id: this.#id, result })
    } catch (error) {
      this.#outbox.flush()
      // Whatever an engine throws when it is aborted: the reason is known better here.
      const reason = this.signal.aborted ? abortError(this.signal) : error
      this.#send({ type: 'failed', id: this.#id, error: plainError(reason, 'engine_failed') })
    }
  }

  async #drain(stream: PartStream): Promise<Result> {
    try {
      for (let step = await stream.next(); ; step = await stream.next()) {
        if (step.done === true) return step.value
        await this.#pass(step.value)
      }
    } finally {
      // Harmless after the end; after an abort during a pause it is what lets the engine free the slot.
      await stream.return(undefined as never)
    }
  }

  async #pass(part: Part): Promise<void> {
    this.#outbox.add(part)
    this.#credit--
    if (this.#credit <= 0) this.#outbox.flush()
    while (this.#credit <= 0 && !this.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    if (this.signal.aborted) throw abortError(this.signal)
  }
}
