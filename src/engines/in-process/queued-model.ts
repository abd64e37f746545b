import { ModelyardError } from '../../base/errors.ts'
import type { FinishReason, Part, PartStream, Result } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import { NO_USAGE, type Usage } from '../../tasks/usage.ts'
import type { LoadPlan, RunOptions } from '../engine.ts'
import { InProcessModel } from './in-process-model.ts'
import type { ModelLifetime } from './model-lifetime.ts'
import { PartChannel } from './part-channel.ts'
import { WorkQueue } from './work-queue.ts'

/** What a work used beside the prompt's tokens, and how it ended where that is not by itself. */
export interface WorkEnd extends Partial<Usage> {
  /** Default `stop`. */
  finishReason?: FinishReason
}

/**
 * What a task comes to: its parts, `started` first. Returns what there is to say of its end. `isOver` tells that nobody wants the rest: a
 * long native step is to be cut short.
 */
export type Work = (isOver: () => boolean) => AsyncGenerator<Part, WorkEnd | undefined, void>

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
export class QueuedModel extends InProcessModel {
  readonly #work: WholeInputWork
  readonly #queue = new WorkQueue()

  constructor({ plan, work, lifetime }: QueuedModelParts) {
    super(plan, lifetime)
    this.#work = work
  }

  override run(task: Task, { signal }: RunOptions): PartStream {
    return new PartChannel(signal, (channel) => {
      this.lifetime.check()
      const prepared = this.#work.prepare(task)
      this.lifetime.begin(channel)
      void this.#queue.add(async () => this.#perform(prepared, channel))
    })
  }

  override async countTokens(task: Task): Promise<number> {
    this.lifetime.check()
    return this.#work.countTokens(task)
  }

  override async warmUp(signal: AbortSignal): Promise<void> {
    this.lifetime.check()
    signal.throwIfAborted()
    await this.#queue.add(async () => this.#work.warmUp())
    this.lifetime.moved()
    signal.throwIfAborted()
  }

  override async unload(): Promise<void> {
    await this.lifetime.unload(
      async () => this.#queue.idle(),
      async () => this.#work.dispose(),
    )
  }

  /** Never rejects. */
  async #perform(work: Work, channel: PartChannel): Promise<void> {
    try {
      if (!channel.closed) channel.end(await this.#evaluate(work, channel))
    } catch (error) {
      channel.fail(engineFailure(error))
    } finally {
      this.lifetime.finish(channel)
    }
  }

  async #evaluate(work: Work, channel: PartChannel): Promise<Result> {
    const { lifetime } = this
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
    const { finishReason = 'stop', ...used } = step.value ?? {}
    return {
      finishReason,
      usage: { ...NO_USAGE, promptTokens, ...used },
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
