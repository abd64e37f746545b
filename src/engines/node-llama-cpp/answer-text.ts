import type { Part, TokenLogprob } from '../../tasks/part.ts'
import type { AnswerParser } from '../../templates/answer/answer-parser.ts'
import { TokenTextDecoder } from '../../templates/text-decoder.ts'
import { AnswerReader, type AnswerReaderOptions } from '../llama-cpp/answer-reader.ts'
import type { Vocabulary } from './vocabulary.ts'

export interface AnswerTextOptions extends AnswerReaderOptions {
  vocabulary: Vocabulary
}

/** An answer as it grows token by token: whole characters only (BR-02), read as {@link AnswerReader} does. */
export class AnswerText {
  readonly #vocabulary: Vocabulary
  readonly #decoder = new TokenTextDecoder()
  readonly #parser: AnswerParser | undefined
  readonly #reader: AnswerReader
  readonly #marks = new Map<number, Uint8Array>()

  constructor({ vocabulary, ...reading }: AnswerTextOptions) {
    this.#vocabulary = vocabulary
    this.#parser = reading.parser
    this.#reader = new AnswerReader(reading)
  }

  /** The stop string that has come. */
  get stoppedBy(): string | undefined {
    return this.#reader.stoppedBy
  }

  get reasoningTokens(): number {
    return this.#reader.reasoningTokens
  }

  get inReasoning(): boolean {
    return this.#reader.inReasoning
  }

  get calls(): number {
    return this.#reader.calls
  }

  /** The one call that was allowed is complete. */
  get isDone(): boolean {
    return this.#reader.isDone
  }

  /** @returns what can be shown now */
  add(token: number, logprob?: TokenLogprob): Part[] {
    const text = this.#decoder.write(this.#bytesOf(token))
    return this.#reader.add({ text, ...(logprob !== undefined && { logprobs: [logprob] }) })
  }

  /** What was held back at the end; an unfinished character is dropped. */
  end(): Part[] {
    this.#decoder.end()
    return this.#reader.end()
  }

  /** Control tokens have no text, but some are marks of calls and reasoning. */
  #bytesOf(token: number): Uint8Array {
    const bytes = this.#vocabulary.bytesOf(token)
    if (bytes.length > 0 || this.#parser === undefined) return bytes
    const text = this.#vocabulary.controlTextOf(token)
    if (text === undefined) return bytes
    const known = this.#marks.get(token) ?? Buffer.from(this.#parser.shows(text) ? text : '')
    this.#marks.set(token, known)
    return known
  }
}
