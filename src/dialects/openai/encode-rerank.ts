import type { Part } from '../../tasks/part.ts'
import { ListAnswer } from './list-answer.ts'

interface Ranked {
  index: number
  score: number
}

/** The best first; equal ones stay in the order of the request (BR-35). */
function byScore(scores: readonly number[]): Ranked[] {
  const ranked = scores.map((score, index) => ({ index, score }))
  return ranked.sort((a, b) => b.score - a.score || a.index - b.index)
}

/** Documents sorted by relevance, each with its place in the request. */
export class RerankAnswer extends ListAnswer<number> {
  readonly #envelope: { id: string; model: string }
  readonly #documents: readonly string[]
  readonly #options: { topN?: number; withDocuments: boolean }

  constructor(
    envelope: { id: string; model: string },
    documents: readonly string[],
    options: { topN?: number; withDocuments: boolean },
  ) {
    super('score for document', documents.length)
    this.#envelope = envelope
    this.#documents = documents
    this.#options = options
  }

  protected override valueOf(part: Part): { index: number; value: number } | undefined {
    return part.type === 'score' ? { index: part.index, value: part.score } : undefined
  }

  protected override fields(scores: readonly number[]): Record<string, unknown> {
    return { ...this.#envelope, results: byScore(scores).slice(0, this.#options.topN).map(this.#entry) }
  }

  readonly #entry = ({ index, score }: Ranked): Record<string, unknown> => {
    const entry = { index, relevance_score: score }
    return this.#options.withDocuments ? { ...entry, document: { text: this.#documents[index] } } : entry
  }
}
