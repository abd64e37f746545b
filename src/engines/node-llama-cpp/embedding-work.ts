import { ModelyardError } from '../../base/errors.ts'
import type { EmbeddingTask } from '../../tasks/embedding-task.ts'
import type { Part } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan } from '../engine.ts'
import type { LlamaEmbeddingContext } from './llama-module.ts'
import { requireTextWithin } from '../llama-cpp/require-text-within.ts'
import { fitted } from '../llama-cpp/unit-vector.ts'
import type { WholeInputWork, Work } from '../in-process/queued-model.ts'
import { stepwise } from '../in-process/stepwise-work.ts'
import { requireText } from '../task-checks.ts'
import type { Vocabulary } from './vocabulary.ts'

/** Characters from which a text is judged before it is cut into tokens: some tokenizers drop spaces, so that shorter ones may still fit. */
const LONG_TEXT = 1_000_000

/** Vectors of texts. */
export class EmbeddingWork implements WholeInputWork {
  readonly #plan: LoadPlan
  readonly #context: LlamaEmbeddingContext
  readonly #vocabulary: Vocabulary
  readonly #dimensions: number
  readonly #free: () => Promise<void>

  /**
   * `dimensions` are those of the model's vectors; `free` is called when the context is gone.
   */
  constructor(
    plan: LoadPlan,
    context: LlamaEmbeddingContext,
    vocabulary: Vocabulary,
    dimensions: number,
    free: () => Promise<void>,
  ) {
    this.#plan = plan
    this.#context = context
    this.#vocabulary = vocabulary
    this.#dimensions = dimensions
    this.#free = free
  }

  /** @throws context_length_exceeded naming the input */
  prepare(task: Task): Work {
    const inputs = this.#inputsOf(task)
    const { dimensions } = task as EmbeddingTask
    requireDimensions(dimensions, this.#dimensions)
    const steps = inputs.map((tokens, index) => async (): Promise<Part> => {
      const { vector } = await this.#context.getEmbeddingFor(tokens)
      return { type: 'vector', index, vector: fitted(vector, dimensions) }
    })
    return stepwise(lengthOf(inputs), steps)
  }

  countTokens(task: Task): number {
    return lengthOf(this.#inputsOf(task))
  }

  #inputsOf(task: Task): number[][] {
    if (task.kind !== 'embedding') throw unsupported(this.#plan, task)
    return task.inputs.map((input, index) => this.#tokensOf(requireText(input, index, this.#plan), index))
  }

  #tokensOf(input: string | number[], index: number): number[] {
    const vocabulary = this.#vocabulary
    const { contextSize } = this.#plan
    const field = `input[${index}]`
    if (typeof input !== 'string') vocabulary.requireTokens(input, field)
    else if (input.length > LONG_TEXT) requireTextWithin(contextSize, vocabulary, [input], field)
    const tokens = vocabulary.withBorders(typeof input === 'string' ? vocabulary.tokenizeText(input) : input)
    requireLength(tokens.length, index, contextSize)
    return tokens
  }

  async warmUp(): Promise<void> {
    const tokens = this.#vocabulary.withBorders(this.#vocabulary.tokenizeText('1'))
    await this.#context.getEmbeddingFor(tokens)
  }

  async dispose(): Promise<void> {
    await this.#context.dispose()
    await this.#free()
  }
}

function lengthOf(inputs: readonly number[][]): number {
  return inputs.reduce((sum, tokens) => sum + tokens.length, 0)
}

function unsupported({ model }: LoadPlan, { kind }: Task): ModelyardError {
  return new ModelyardError('unsupported', `Model "${model}" makes embeddings; it cannot do ${kind} tasks.`, {
    details: { param: 'model', task: kind },
  })
}

function requireDimensions(dimensions: number | undefined, length: number): void {
  if (dimensions === undefined || (dimensions >= 1 && dimensions <= length)) return
  const message = `This model's vectors have ${length} dimensions; ask for 1 to ${length}, not ${dimensions}.`
  throw new ModelyardError('invalid_request', message, { details: { param: 'dimensions' } })
}

function requireLength(tokens: number, index: number, contextSize: number): void {
  if (tokens === 0) {
    throw new ModelyardError('invalid_request', `Input ${index} is empty.`, {
      details: { param: `input[${index}]` },
    })
  }
  if (tokens <= contextSize) return
  throw new ModelyardError(
    'context_length_exceeded',
    `The maximum context length is ${contextSize} tokens, but input ${index} has ${tokens}; shorten it.`,
    { details: { promptTokens: tokens, contextSize, index, param: `input[${index}]` } },
  )
}
