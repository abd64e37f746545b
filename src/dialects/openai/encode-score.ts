import type { Part, Result } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import { encodeError } from './encode-error.ts'
import type { AnswerEnvelope } from './usage.ts'

/** Scores in the order of the request. */
export class ScoreAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly fail: RunEncoder['fail'] = encodeError
  readonly #envelope: AnswerEnvelope
  readonly #scores: number[] = []
  #tokens = 0

  constructor(envelope: AnswerEnvelope) {
    this.#envelope = envelope
  }

  part(part: Part): string {
    // Engines give the scores of one task in its order.
    if (part.type === 'score') this.#scores.push(part.score)
    return ''
  }

  end({ usage }: Result): string {
    this.#tokens += usage.promptTokens
    return ''
  }

  finish(): string {
    return JSON.stringify({
      object: 'list',
      ...this.#envelope,
      data: this.#scores.map((score, index) => ({ index, object: 'score', score })),
      usage: { prompt_tokens: this.#tokens, total_tokens: this.#tokens },
    })
  }
}
