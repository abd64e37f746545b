import { ModelyardError } from '../../base/errors.ts'
import type { Part } from '../../tasks/part.ts'
import type { RerankTask } from '../../tasks/rerank-task.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan } from '../engine.ts'
import type { LlamaRankingContext } from './llama-module.ts'
import { requireTextWithin } from '../llama-cpp/require-text-within.ts'
import { longPairField } from '../task-checks.ts'
import type { WholeInputWork, Work } from '../in-process/queued-model.ts'
import { stepwise } from '../in-process/stepwise-work.ts'
import type { Vocabulary } from './vocabulary.ts'

/** Characters from which a pair is judged before it is cut into tokens. */
const LONG_PAIR = 1_000_000

/** How well documents answer a query: the model reads each together with the query. */
export class RankingWork implements WholeInputWork {
  readonly #plan: LoadPlan
  readonly #context: LlamaRankingContext
  readonly #vocabulary: Vocabulary
  readonly #free: () => Promise<void>

  /** `free` is called when the context is gone. */
  constructor(
    plan: LoadPlan,
    context: LlamaRankingContext,
    vocabulary: Vocabulary,
    free: () => Promise<void>,
  ) {
    this.#plan = plan
    this.#context = context
    this.#vocabulary = vocabulary
    this.#free = free
  }

  /** @throws context_length_exceeded naming the query or the document */
  prepare(task: Task): Work {
    const { query, documents } = this.#rankingOf(task)
    const steps = documents.map((document, index) => async (): Promise<Part> => {
      const score = await this.#context.rank(query, document)
      return { type: 'score', index, score }
    })
    return stepwise(this.countTokens(task), steps)
  }

  countTokens(task: Task): number {
    const { query, documents } = this.#rankingOf(task)
    const lengths = documents.map((document, index) => this.#lengthOf(query, document, index))
    return lengths.reduce((sum, length) => sum + length, 0)
  }

  #rankingOf(task: Task): RerankTask {
    if (task.kind !== 'rerank') throw unsupported(this.#plan, task)
    return task
  }

  /** Tokens of both together, as they are evaluated. */
  #lengthOf(query: string, document: string, index: number): number {
    const { contextSize } = this.#plan
    if (query.length > LONG_PAIR) requireTextWithin(contextSize, this.#vocabulary, [query], 'query')
    if (query.length + document.length > LONG_PAIR) {
      requireTextWithin(contextSize, this.#vocabulary, [query, document], `documents[${index}]`)
    }
    const length = this.#context.calculateInputLength(query, document)
    if (length <= contextSize) return length
    const param = longPairField(this.#context.calculateInputLength(query, ''), contextSize, index)
    throw new ModelyardError(
      'context_length_exceeded',
      `The maximum context length is ${contextSize} tokens, but the query and document ${index} have ${length}; shorten them.`,
      { details: { promptTokens: length, contextSize, index, param } },
    )
  }

  async warmUp(): Promise<void> {
    await this.#context.rank('1', '1')
  }

  async dispose(): Promise<void> {
    await this.#context.dispose()
    await this.#free()
  }
}

function unsupported({ model }: LoadPlan, { kind }: Task): ModelyardError {
  return new ModelyardError('unsupported', `Model "${model}" is a reranker; it cannot do ${kind} tasks.`, {
    details: { param: 'model', task: kind },
  })
}
