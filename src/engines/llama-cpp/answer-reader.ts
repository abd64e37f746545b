import type { Part, TokenLogprob } from '../../tasks/part.ts'
import type { AnswerParser } from '../../templates/answer/answer-parser.ts'
import { StopMatcher } from '../../templates/stop-matcher.ts'

export interface AnswerReaderOptions {
  stops: readonly string[]
  /** Absent = all is text. */
  parser?: AnswerParser
  /** A model that thinks although it was told not to is not heard. */
  hidesReasoning: boolean
}

/** A piece of an answer: whole characters, and of what tokens they came. */
export interface AnswerPiece {
  text: string
  /** Tokens that the piece was made of, those included whose text came with an earlier or later one. Default 1. */
  tokens?: number
  logprobs?: readonly TokenLogprob[]
}

/**
 * An answer as its text grows: text, reasoning and calls apart, and no text that may be a stop string (BR-41). Stop strings are looked for
 * in the text alone.
 */
export class AnswerReader {
  readonly #stops: StopMatcher
  readonly #parser: AnswerParser | undefined
  readonly #hidesReasoning: boolean
  #logprobs: TokenLogprob[] = []
  #reasoningTokens = 0

  constructor({ stops, parser, hidesReasoning }: AnswerReaderOptions) {
    this.#hidesReasoning = hidesReasoning
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
  add({ text, tokens = 1, logprobs = [] }: AnswerPiece): Part[] {
    for (const logprob of logprobs) this.#logprobs.push(logprob)
    const wasReasoning = this.inReasoning
    const parts = this.#parts(text)
    if (wasReasoning || this.inReasoning) {
      this.#reasoningTokens += tokens
      this.#logprobs = []
    }
    return parts
  }

  /** What was held back at the end. */
  end(): Part[] {
    const parts = (this.#parser?.end() ?? []).flatMap((part) => this.#shown(part))
    const text = this.#stops.end()
    return text === '' ? parts : [...parts, ...this.#textPart(text)]
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
