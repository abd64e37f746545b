import type { Result } from '../../tasks/part.ts'
import type { AnswerReader, IncomingAnswer } from './answer-reader.ts'
import { broken, documentOf } from './reply-document.ts'
import { WireAnswer, type WireDocument } from './wire-answer.ts'

/** Text that was asked for in one piece. */
export class WholeReader implements AnswerReader {
  readonly #incoming: IncomingAnswer
  readonly #answer = new WireAnswer()
  readonly #begun: number
  #isRead = false

  constructor(incoming: IncomingAnswer) {
    this.#incoming = incoming
    this.#begun = incoming.clock.now()
  }

  async read(): Promise<boolean> {
    if (this.#isRead) return false
    const { parts, model, body, onMoved } = this.#incoming
    const document = (await documentOf(body, model)) as WireDocument
    onMoved()
    this.#isRead = true
    parts.push(...this.#answer.readWhole(document))
    return true
  }

  /** How long the prompt took is not known. */
  result(): Result {
    const { clock, model } = this.#incoming
    if (!this.#answer.complete) throw broken(model)
    return this.#answer.result({ prefill: 0, decode: clock.now() - this.#begun })
  }
}
