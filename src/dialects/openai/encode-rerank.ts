import { ModelyardError } from '../../base/errors.ts'
import type { Part, Result } from '../../tasks/part.ts'
import { NO_USAGE, type Usage } from '../../tasks/usage.ts'
import type { RunEncoder } from '../dialect.ts'
import { encodeError } from './encode-error.ts'

interface Ranked {
  index: number
  score: number
}

/** The best first; equal ones stay in the order of the request (BR-35). */
function byScore(scores: readonly (number | undefined)[]): Ranked[] {
  const ranked = scores.map((score, index) => {
    if (score === undefined)
      throw new ModelyardError('engine_failed', `The engine gave no score for document ${index}.`)
    return { index, score }
  })
  return ranked.sort((a, b) => b.score - a.score || a.index - b.index)
}

/** Documents sorted by relevance, each with its place in the request. */
export class RerankAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly fail: RunEncoder['fail'] = encodeError
  readonly #envelope: { id: string; model: string }
  readonly #documents: readonly string[]
  readonly #options: { topN?: number; withDocuments: boolean }
  readonly #scores: (number | undefined)[]
  #usage: Usage = NO_USAGE

  constructor(
    envelope: { id: string; model: string },
    documents: readonly string[],
    options: { topN?: number; withDocuments: boolean },
  ) {
    this.#envelope = envelope
    this.#documents = documents
    this.#options = options
    this.#scores = Array.from({ length: documents.length })
  }

  part(part: Part): string {
    if (part.type === 'score') this.#scores[part.index] = part.score
    return ''
  }

  end(result: Result): string {
    this.#usage = result.usage
    return ''
  }

  finish(): string {
    const { promptTokens } = this.#usage
    return JSON.stringify({
      object: 'list',
      ...this.#envelope,
      results: byScore(this.#scores).slice(0, this.#options.topN).map(this.#entry),
      usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
    })
  }

  readonly #entry = ({ index, score }: Ranked): Record<string, unknown> => {
    const entry = { index, relevance_score: score }
    return this.#options.withDocuments ? { ...entry, document: { text: this.#documents[index] } } : entry
  }
}
