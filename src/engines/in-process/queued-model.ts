import { ModelyardError } from '../../base/errors.ts'
import type { MeasuredFootprint } from '../../host/memory.ts'
import type { Part, PartStream, Result } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import { NO_USAGE, type Usage } from '../../tasks/usage.ts'
import type { ExitReport, LoadedModel, LoadPlan, RunOptions } from '../engine.ts'
import type { ModelLifetime } from './model-lifetime.ts'
import { ownMemory } from './own-memory.ts'
import { PartChannel } from './part-channel.ts'
import { WorkQueue } from './work-queue.ts'

/**
 * What a task comes to: its parts, `started` first. Returns what it used, if that is more than the prompt's tokens. `isOver` tells that
 * nobody wants the rest: a long native step is to be cut short.
 */
export type Work = (isOver: () => boolean) => AsyncGenerator<Part, Partial<Usage> | undefined, void>

/** What is done with inputs that are evaluated whole. */
export interface WholeInputWork {
  /** Everything about the task that can be checked without evaluating it. @throws ModelyardError */
  prepare(task: Task): Work
  /** @throws ModelyardError */
  countTokens(task: Task): number
  warmUp(): Promise<void>
  /** Frees all that is in memory. */
  dispose(): Promise<void>
}

export interface QueuedModelParts {
  plan: LoadPlan
  work: WholeInputWork
  lifetime: ModelLifetime
}

/** A model that makes one thing of a whole input, such as a vector or a score: one task at a time, as its engine has it. */
export class QueuedModel implements LoadedModel {
  readonly #parts: QueuedModelParts
  readonly #queue = new WorkQueue()
  lastProgress?: number

  constructor(parts: QueuedModelParts) {
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
      const prepared = work.prepare(task)
      lifetime.begin(channel)
      void this.#queue.add(async () => this.#perform(prepared, channel))
    })
  }

  async countTokens(task: Task): Promise<number> {
    this.#parts.lifetime.check()
    return this.#parts.work.countTokens(task)
  }

  async warmUp(signal: AbortSignal): Promise<void> {
    const { lifetime, work } = this.#parts
    lifetime.check()
    signal.throwIfAborted()
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
    const { lifetime, work } = this.#parts
    await lifetime.unload(
      async () => this.#queue.idle(),
      async () => work.dispose(),
    )
  }

  /** Never rejects. */
  async #perform(work: Work, channel: PartChannel): Promise<void> {
    try {
      if (!channel.closed) channel.end(await this.#evaluate(work, channel))
    } catch (error) {
      channel.fail(engineFailure(error))
    } finally {
      this.#parts.lifetime.finish(channel)
    }
  }

  async #evaluate(work: Work, channel: PartChannel): Promise<Result> {
    const { lifetime } = this.#parts
    const begun = lifetime.clock.now()
    const parts = work(() => channel.closed)
    let promptTokens = 0
    let step = await parts.next()
    for (; step.done !== true; step = await parts.next()) {
      if (step.value.type === 'started') promptTokens = step.value.promptTokens
      else lifetime.moved()
      await channel.put(step.value)
      if (channel.closed) await parts.return(undefined)
    }
    return {
      finishReason: 'stop',
      usage: { ...NO_USAGE, promptTokens, ...step.value },
      timings: { prefill: lifetime.clock.now() - begun, decode: 0 },
    }
  }
}

/** Errors with a code are about the task and say what is wrong with it; all others are the engine's. */
function engineFailure(error: unknown): ModelyardError {
  if (error instanceof ModelyardError) return error
  const message = `The engine failed: ${error instanceof Error ? error.message : String(error)}`
  return new ModelyardError('engine_failed', message, { cause: error })
}
