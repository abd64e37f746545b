import type { MeasuredFootprint } from '../../host/memory.ts'
import { measureProcessTree } from '../../host/process-memory.ts'
import type { PartStream } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { ExitReport, LoadedModel, LoadPlan, RunOptions } from '../engine.ts'
import type { WorkerChild } from '../supervision/worker-child.ts'
import type { WorkerLife } from '../supervision/worker-life.ts'
import { requireTask } from '../task-checks.ts'
import type { MlxHost } from './mlx-host.ts'
import { mlxPromptOf } from './mlx-prompt.ts'
import { runMlx, type TextTask } from './mlx-run.ts'

export interface MlxModelParts {
  child: WorkerChild
  life: WorkerLife
  host: MlxHost
}

/** A model in an mlx_lm worker. */
export class MlxModel implements LoadedModel {
  readonly plan: LoadPlan
  readonly exited: Promise<ExitReport>
  lastProgress?: number
  readonly #parts: MlxModelParts

  constructor(plan: LoadPlan, parts: MlxModelParts) {
    this.plan = plan
    this.#parts = parts
    this.exited = parts.life.exited
    parts.life.watch((now) => {
      this.lastProgress = now
    })
  }

  get pid(): number {
    return this.#parts.child.pid ?? 0
  }

  get logPath(): string | undefined {
    return this.#parts.child.logPath
  }

  run(task: Task, { keptPrefix, signal }: RunOptions): PartStream {
    const { life, host } = this.#parts
    return life.stream(signal, (both) => runMlx(this.#textTask(task), { keptPrefix, signal: both }, host))
  }

  async countTokens(task: Task, signal?: AbortSignal): Promise<number> {
    const { life, host } = this.#parts
    return await life.during(signal, async (both) => {
      const { tokens } = await mlxPromptOf(this.#textTask(task), host, both)
      return tokens.length
    })
  }

  /** One real token. */
  async warmUp(signal: AbortSignal): Promise<void> {
    const task: Task = {
      kind: 'completion',
      prompt: '1 2 3',
      sampling: { temperature: 0 },
      stop: [],
      maxTokens: 1,
    }
    const parts = this.run(task, { slot: 0, keptPrefix: 0, signal })
    for (let step = await parts.next(); step.done !== true;) step = await parts.next()
  }

  async memory(): Promise<MeasuredFootprint> {
    this.#parts.life.check()
    const ram = await measureProcessTree(this.pid)
    this.#parts.life.check()
    return ram === undefined ? {} : { ram }
  }

  async ping(signal?: AbortSignal): Promise<void> {
    const { life, host } = this.#parts
    await life.during(signal, async (both) => await host.connection.json('/health', undefined, both))
  }

  async unload(): Promise<void> {
    await this.#parts.life.unload()
  }

  #textTask(task: Task): TextTask {
    requireTask(task, this.plan)
    return task as TextTask
  }
}
