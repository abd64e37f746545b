import { TextReader, type AnswerReader, type IncomingAnswer } from './answer-reader.ts'
import { broken } from './reply-document.ts'
import { WholeReader } from './whole-reader.ts'

/**
 * What is called JSON where a stream was asked for: a document, of a server that knows no streams or sends an error as if it were an answer; or
 * a stream under a wrong name. How it begins tells.
 */
export class EitherReader implements AnswerReader {
  readonly #incoming: IncomingAnswer
  readonly #readers: { text: TextReader; whole: WholeReader }
  #chosen: AnswerReader | undefined

  constructor(incoming: IncomingAnswer) {
    this.#incoming = incoming
    // Both now: how long it takes counts from here.
    this.#readers = { text: new TextReader(incoming), whole: new WholeReader(incoming) }
  }

  async read(): Promise<boolean> {
    const { body } = this.#incoming
    if (this.#chosen === undefined && !(await body.arrival())) return false
    const { text, whole } = this.#readers
    this.#chosen ??= body.beginsWith(/^\s*\{/) ? whole : text
    return await this.#chosen.read()
  }

  result(): ReturnType<AnswerReader['result']> {
    if (this.#chosen === undefined) throw broken(this.#incoming.model)
    return this.#chosen.result()
  }
}
