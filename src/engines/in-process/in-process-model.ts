import type { MeasuredFootprint } from '../../host/memory.ts'
import type { PartStream } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { ExitReport, LoadedModel, LoadPlan, RunOptions } from '../engine.ts'
import type { ModelLifetime } from './model-lifetime.ts'
import { ownMemory } from './own-memory.ts'

/** What all models inside this process have in common: the process is theirs, and their lifetime tells the rest. */
export abstract class InProcessModel implements LoadedModel {
  readonly plan: LoadPlan
  readonly exited: Promise<ExitReport>
  lastProgress?: number
  protected readonly lifetime: ModelLifetime

  constructor(plan: LoadPlan, lifetime: ModelLifetime) {
    this.plan = plan
    this.lifetime = lifetime
    this.exited = lifetime.exited
    lifetime.watch((now) => {
      this.lastProgress = now
    })
  }

  async memory(): Promise<MeasuredFootprint> {
    this.lifetime.check()
    return ownMemory()
  }

  async ping(): Promise<void> {
    this.lifetime.check()
  }

  abstract run(task: Task, options: RunOptions): PartStream
  abstract countTokens(task: Task, signal?: AbortSignal): Promise<number>
  abstract warmUp(signal: AbortSignal): Promise<void>
  abstract unload(): Promise<void>
}
