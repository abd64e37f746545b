import type { Part, TokenLogprob } from '../../tasks/part.ts'
import type { AnswerParser } from '../../templates/answer/answer-parser.ts'
import { StopMatcher } from '../../templates/stop-matcher.ts'
import { TokenTextDecoder } from '../../templates/text-decoder.ts'
import type { Vocabulary } from './vocabulary.ts'

export interface AnswerTextOptions {
  vocabulary: Vocabulary
  stops: readonly string[]
  /** Absent = all is text. */
  parser?: AnswerParser
  /** A model that thinks although it was told not to is not heard. */
  hidesReasoning: boolean
}

/**
 * An answer as it grows token by token: whole characters only (BR-02), text, reasoning and calls apart, and no text that may be a stop
 * string (BR-41). Stop strings are looked for in the text alone.
 */
export class AnswerText {
  readonly #vocabulary: Vocabulary
  readonly #decoder = new TokenTextDecoder()
  readonly #stops: StopMatcher
  readonly #parser: AnswerParser | undefined
  readonly #hidesReasoning: boolean
  readonly #marks = new Map<number, Uint8Array>()
  #logprobs: TokenLogprob[] = []
  #reasoningTokens = 0

  constructor({ vocabulary, stops, parser, hidesReasoning }: AnswerTextOptions) {
    this.#hidesReasoning = hidesReasoning
    this.#vocabulary = vocabulary
    this.#stops = new StopMatcher(stops)
    this.#parser = parser
  }

  /** The stop string that has come. */
  get stoppedBy(): string | undefined {
    return this.#stops.matched
  }

  get reasoningTokens(): number {
    return this.#reasoningTokens
  }

  get inReasoning(): boolean {
    return this.#parser?.inReasoning === true
  }

  get calls(): number {
    return this.#parser?.calls ?? 0
  }

  /** The one call that was allowed is complete. */
  get isDone(): boolean {
    return this.#parser?.isDone === true
  }

  /** @returns what can be shown now */
  add(token: number, logprob?: TokenLogprob): Part[] {
    if (logprob !== undefined) this.#logprobs.push(logprob)
    const wasReasoning = this.inReasoning
    const parts = this.#parts(this.#decoder.write(this.#bytesOf(token)))
    if (wasReasoning || this.inReasoning) {
      this.#reasoningTokens++
      this.#logprobs = []
    }
    return parts
  }

  /** What was held back at the end; an unfinished character is dropped. */
  end(): Part[] {
    this.#decoder.end()
    const parts = (this.#parser?.end() ?? []).flatMap((part) => this.#shown(part))
    const text = this.#stops.end()
    return text === '' ? parts : [...parts, ...this.#textPart(text)]
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

  #parts(text: string): Part[] {
    if (this.#parser === undefined) return this.#textPart(this.#stops.write(text))
    return this.#parser.write(text).flatMap((part) => this.#shown(part))
  }

  #shown(part: Part): Part[] {
    if (part.type === 'text') return this.#textPart(this.#stops.write(part.text))
    this.#logprobs = []
    if (part.type === 'reasoning' && this.#hidesReasoning) return []
    // A stop string does not reach over a call, and after one nothing is shown.
    if (this.stoppedBy !== undefined) return []
    return [...this.#textPart(this.#stops.end()), part]
  }

  /** Log-probabilities wait for the text they are of. */
  #textPart(text: string): Part[] {
    if (text === '') return []
    const logprobs = this.#logprobs
    if (logprobs.length === 0) return [{ type: 'text', text }]
    this.#logprobs = []
    return [{ type: 'text', text, logprobs }]
  }
}
