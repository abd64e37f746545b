import { ModelyardError } from '../../base/errors.ts'
import type { MeasuredFootprint } from '../../host/memory.ts'
import type { Part, PartStream, Result } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { ExitReport, LoadedModel, LoadPlan, RunOptions } from '../engine.ts'
import type { LlamaModel } from './llama-module.ts'
import type { ModelLifetime } from './model-lifetime.ts'
import { ownMemory } from './own-memory.ts'
import { PartChannel } from './part-channel.ts'
import { WorkQueue } from './work-queue.ts'

/** A task's inputs, checked and cut into tokens; each step evaluates one of them. */
export interface PooledInputs {
  promptTokens: number
  steps: (() => Promise<Part>)[]
}

/** What is done with inputs that are evaluated whole. */
export interface PooledWork {
  /** All inputs are checked before one is evaluated. @throws ModelyardError */
  prepare(task: Task): PooledInputs
  warmUp(): Promise<void>
  dispose(): Promise<void>
}

export interface PooledModelParts {
  plan: LoadPlan
  model: LlamaModel
  work: PooledWork
  lifetime: ModelLifetime
  release: () => void
}

/** A model that makes one thing of a whole text, a vector or a score: one context, one text at a time, as the engine has it. */
export class PooledModel implements LoadedModel {
  readonly #parts: PooledModelParts
  readonly #queue = new WorkQueue()
  lastProgress?: number

  constructor(parts: PooledModelParts) {
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
      const { lifetime, work } = this.#parts
      lifetime.check()
      const inputs = work.prepare(task)
      lifetime.begin(channel)
      void this.#queue.add(async () => this.#perform(inputs, channel))
    })
  }

  async countTokens(task: Task): Promise<number> {
    this.#parts.lifetime.check()
    return this.#parts.work.prepare(task).promptTokens
  }

  async warmUp(signal: AbortSignal): Promise<void> {
    const { lifetime, work } = this.#parts
    lifetime.check()
    await this.#queue.add(async () => work.warmUp())
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
    const { lifetime, work, model, release } = this.#parts
    await lifetime.unload(
      async () => this.#queue.idle(),
      async () => {
        await work.dispose()
        await model.dispose()
        release()
      },
    )
  }

  /** Never rejects. */
  async #perform(inputs: PooledInputs, channel: PartChannel): Promise<void> {
    try {
      if (!channel.closed) channel.end(await this.#evaluate(inputs, channel))
    } catch (error) {
      const message = `The engine failed: ${(error as Error).message}`
      channel.fail(new ModelyardError('engine_failed', message, { cause: error }))
    } finally {
      this.#parts.lifetime.finish(channel)
    }
  }

  async #evaluate({ promptTokens, steps }: PooledInputs, channel: PartChannel): Promise<Result> {
    const { lifetime } = this.#parts
    const begun = lifetime.clock.now()
    await channel.put({ type: 'started', promptTokens, cachedTokens: 0 })
    for (const step of steps) {
      if (channel.closed) break
      const part = await step()
      lifetime.moved()
      await channel.put(part)
    }
    return {
      finishReason: 'stop',
      usage: { promptTokens, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
      timings: { prefill: lifetime.clock.now() - begun, decode: 0 },
    }
  }
}
