import type { Part, TokenLogprob } from '../../tasks/part.ts'
import { StopMatcher } from '../../templates/stop-matcher.ts'
import { TokenTextDecoder } from '../../templates/text-decoder.ts'
import type { Vocabulary } from './vocabulary.ts'

/** The text of an answer as it grows token by token: whole characters only (BR-02), and nothing that may be a stop string (BR-41). */
export class AnswerText {
  readonly #vocabulary: Vocabulary
  readonly #decoder = new TokenTextDecoder()
  readonly #stops: StopMatcher
  #logprobs: TokenLogprob[] = []

  constructor(vocabulary: Vocabulary, stops: readonly string[]) {
    this.#vocabulary = vocabulary
    this.#stops = new StopMatcher(stops)
  }

  /** The stop string that has come. */
  get stoppedBy(): string | undefined {
    return this.#stops.matched
  }

  /** @returns what can be shown now */
  add(token: number, logprob?: TokenLogprob): Part | undefined {
    if (logprob !== undefined) this.#logprobs.push(logprob)
    return this.#part(this.#stops.write(this.#decoder.write(this.#vocabulary.bytesOf(token))))
  }

  /** What was held back at the end; an unfinished character is dropped. */
  end(): Part | undefined {
    this.#decoder.end()
    return this.#part(this.#stops.end())
  }

  /** Log-probabilities wait for the text they are of. */
  #part(text: string): Part | undefined {
    if (text === '') return undefined
    const logprobs = this.#logprobs
    if (logprobs.length === 0) return { type: 'text', text }
    this.#logprobs = []
    return { type: 'text', text, logprobs }
  }
}
