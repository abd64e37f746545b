import type { Part } from '../../tasks/part.ts'
import { ListAnswer } from './list-answer.ts'
import type { AnswerEnvelope } from './usage.ts'

/** Scores in the order of the request. */
export class ScoreAnswer extends ListAnswer<number> {
  readonly #envelope: AnswerEnvelope
  #count = 0

  constructor(envelope: AnswerEnvelope) {
    super('score for pair', 0)
    this.#envelope = envelope
  }

  /** Engines give the scores of one task in its order, and tasks run one after the other. */
  protected override valueOf(part: Part): { index: number; value: number } | undefined {
    return part.type === 'score' ? { index: this.#count++, value: part.score } : undefined
  }

  protected override fields(scores: readonly number[]): Record<string, unknown> {
    return { ...this.#envelope, data: scores.map((score, index) => ({ index, object: 'score', score })) }
  }
}
