import { ModelyardError } from '../../base/errors.ts'
import type { MeasuredFootprint } from '../../host/memory.ts'
import type { EmbeddingTask } from '../../tasks/embedding-task.ts'
import type { PartStream, Result } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { ExitReport, LoadedModel, LoadPlan, RunOptions } from '../engine.ts'
import type { LlamaEmbeddingContext, LlamaModel } from './llama-module.ts'
import type { ModelLifetime } from './model-lifetime.ts'
import { ownMemory } from './own-memory.ts'
import { PartChannel } from './part-channel.ts'
import { fitted } from './unit-vector.ts'
import { requireTextWithin } from './prompt.ts'
import type { Vocabulary } from './vocabulary.ts'
import { WorkQueue } from './work-queue.ts'

/** Characters from which a text is judged before it is cut into tokens: some tokenizers drop spaces, so that shorter ones may still fit. */
const LONG_TEXT = 1_000_000

export interface EmbeddingModelParts {
  plan: LoadPlan
  model: LlamaModel
  context: LlamaEmbeddingContext
  vocabulary: Vocabulary
  lifetime: ModelLifetime
  release: () => void
}

/** A model that makes vectors: one context, one text at a time, as the engine has it. */
export class EmbeddingModel implements LoadedModel {
  readonly #parts: EmbeddingModelParts
  readonly #work = new WorkQueue()
  lastProgress?: number

  constructor(parts: EmbeddingModelParts) {
    this.#parts = parts
    parts.lifetime.watch((now) => {
      this.lastProgress = now
    })
  }

  get plan(): LoadPlan {
    return this.#parts.plan
  }

  get exited(): Promise<ExitReport> {
    return this.#parts.lifetime.exited
  }

  run(task: Task, { signal }: RunOptions): PartStream {
    return new PartChannel(signal, (channel) => {
      this.#parts.lifetime.check()
      const inputs = this.#inputsOf(task)
      this.#parts.lifetime.begin(channel)
      void this.#work.add(async () => this.#perform(inputs, (task as EmbeddingTask).dimensions, channel))
    })
  }

  async countTokens(task: Task): Promise<number> {
    this.#parts.lifetime.check()
    return this.#inputsOf(task).reduce((sum, tokens) => sum + tokens.length, 0)
  }

  async warmUp(signal: AbortSignal): Promise<void> {
    const { lifetime, vocabulary, context } = this.#parts
    lifetime.check()
    const tokens = vocabulary.withBorders(vocabulary.tokenizeText('1'))
    await this.#work.add(async () => context.getEmbeddingFor(tokens))
    lifetime.moved()
    signal.throwIfAborted()
  }

  async memory(): Promise<MeasuredFootprint> {
    this.#parts.lifetime.check()
    return ownMemory()
  }

  async ping(): Promise<void> {
    this.#parts.lifetime.check()
  }

  async unload(): Promise<void> {
    const { lifetime, context, model, release } = this.#parts
    await lifetime.unload(
      async () => this.#work.idle(),
      async () => {
        await context.dispose()
        await model.dispose()
        release()
      },
    )
  }

  /** Token ids of each input. All are checked before one is evaluated. @throws context_length_exceeded naming the input */
  #inputsOf(task: Task): number[][] {
    const { plan, vocabulary, model } = this.#parts
    if (task.kind !== 'embedding') throw unsupported(plan, task)
    requireDimensions(task.dimensions, model.embeddingVectorSize)
    return task.inputs.map((input, index) => {
      if (typeof input !== 'string') vocabulary.requireTokens(input, `input[${index}]`)
      else if (input.length > LONG_TEXT) requireTextWithin(plan.contextSize, vocabulary, [input])
      const tokens = vocabulary.withBorders(
        typeof input === 'string' ? vocabulary.tokenizeText(input) : input,
      )
      requireLength(tokens.length, index, plan.contextSize)
      return tokens
    })
  }

  /** Never rejects. */
  async #perform(inputs: number[][], dimensions: number | undefined, channel: PartChannel): Promise<void> {
    try {
      if (!channel.closed) channel.end(await this.#embed(inputs, dimensions, channel))
    } catch (error) {
      const message = `The engine failed: ${(error as Error).message}`
      channel.fail(new ModelyardError('engine_failed', message, { cause: error }))
    } finally {
      this.#parts.lifetime.finish(channel)
    }
  }

  async #embed(inputs: number[][], dimensions: number | undefined, channel: PartChannel): Promise<Result> {
    const { lifetime, context } = this.#parts
    const begun = lifetime.clock.now()
    const promptTokens = inputs.reduce((sum, tokens) => sum + tokens.length, 0)
    await channel.put({ type: 'started', promptTokens, cachedTokens: 0 })
    for (const [index, tokens] of inputs.entries()) {
      if (channel.closed) break
      const { vector } = await context.getEmbeddingFor(tokens)
      lifetime.moved()
      await channel.put({ type: 'vector', index, vector: fitted(vector, dimensions) })
    }
    return {
      finishReason: 'stop',
      usage: { promptTokens, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
      timings: { prefill: lifetime.clock.now() - begun, decode: 0 },
    }
  }
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
