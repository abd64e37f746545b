import { waitAtMost, type Clock } from '../../base/clock.ts'
import type { Part, Result } from '../../tasks/part.ts'
import { EventReader } from './event-reader.ts'
import type { ReplyBody } from './reply-body.ts'
import { broken } from './reply-document.ts'
import { WireAnswer } from './wire-answer.ts'

/** Milliseconds for what may follow when all is said: counts, and `[DONE]`, which some never send. */
const LONGEST_FAREWELL = 5000

/** How the answer to one request is taken in: a read may bring many parts, or none. */
export interface AnswerReader {
  /** Adds what has come to the parts. @returns false when there is no more @throws what is wrong, after all that came before it was told */
  read(): Promise<boolean>
  /** @throws ModelyardError when it ended before it was complete (R12) */
  result(): Result
}

export interface IncomingAnswer {
  /** Id of the model, for errors. */
  model: string
  body: ReplyBody
  /** Where parts go. */
  parts: Part[]
  clock: Clock
  /** Called when something has come. */
  onMoved: () => void
}

/** Text, as a stream of events. */
export class TextReader implements AnswerReader {
  readonly #incoming: IncomingAnswer
  readonly #answer = new WireAnswer()
  readonly #events = new EventReader(this.#answer)
  readonly #begun: number
  #first: number | undefined
  #failure: { reason: unknown } | undefined
  #completed: number | undefined

  constructor(incoming: IncomingAnswer) {
    this.#incoming = incoming
    this.#begun = incoming.clock.now()
  }

  async read(): Promise<boolean> {
    const { body, parts, clock, onMoved } = this.#incoming
    if (this.#failure !== undefined) throw this.#failure.reason
    if (this.#events.isDone || !(await this.#arrival())) return false
    onMoved()
    try {
      this.#events.read(body.take() ?? Buffer.alloc(0), parts)
    } catch (reason) {
      this.#failure = { reason }
    }
    if (parts.length > 0) this.#first ??= clock.now()
    return true
  }

  /** An answer that has its end is whole, even if its connection breaks then or is kept open by nothing but comments. */
  #arrival(): boolean | Promise<boolean> {
    const { body, clock } = this.#incoming
    if (!this.#answer.complete) return body.arrival()
    this.#completed ??= clock.now()
    return this.#farewell(this.#completed + LONGEST_FAREWELL - clock.now())
  }

  async #farewell(rest: number): Promise<boolean> {
    if (rest <= 0) return false
    const { body, clock } = this.#incoming
    let hasMore = false
    const arrival = async (): Promise<void> => {
      hasMore = await body.arrival()
    }
    await waitAtMost(clock, rest, arrival())
    return hasMore
  }

  result(): Result {
    const { body, clock, model } = this.#incoming
    body.finish()
    if (!this.#answer.complete) throw broken(model)
    const now = clock.now()
    const answering = this.#first ?? now
    return this.#answer.result({ prefill: answering - this.#begun, decode: now - answering })
  }
}
