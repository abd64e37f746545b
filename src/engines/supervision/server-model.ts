import type { MeasuredFootprint } from '../../host/memory.ts'
import { measureProcessTree } from '../../host/process-memory.ts'
import type { PartStream } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { ExitReport, LoadedModel, LoadPlan, RunOptions } from '../engine.ts'
import type { ServerConnection } from './server-connection.ts'
import type { WorkerChild } from './worker-child.ts'
import type { WorkerLife } from './worker-life.ts'

/** What is needed of the worker, whatever server it is. */
export interface ServerModelParts {
  child: WorkerChild
  life: WorkerLife
  host: { connection: ServerConnection }
}

/** What all models in a server's process of their own have in common: their process, how it is asked and measured, and its end. */
export abstract class ServerModel implements LoadedModel {
  readonly plan: LoadPlan
  readonly takesStop = true
  readonly exited: Promise<ExitReport>
  lastProgress?: number
  protected readonly life: WorkerLife
  readonly #child: WorkerChild
  readonly #connection: ServerConnection

  constructor(plan: LoadPlan, { child, life, host }: ServerModelParts) {
    this.plan = plan
    this.life = life
    this.exited = life.exited
    this.#child = child
    this.#connection = host.connection
    life.watch((now) => {
      this.lastProgress = now
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get logPath(): string | undefined {
    return this.#child.logPath
  }

  async memory(): Promise<MeasuredFootprint> {
    this.life.check()
    const ram = await measureProcessTree(this.pid)
    this.life.check()
    return ram === undefined ? {} : { ram }
  }

  async ping(signal?: AbortSignal): Promise<void> {
    await this.life.during(signal, async (both) => await this.#connection.health(both))
  }

  async unload(): Promise<void> {
    await this.life.unload()
  }

  abstract run(task: Task, options: RunOptions): PartStream
  abstract countTokens(task: Task, signal?: AbortSignal): Promise<number>
  abstract warmUp(signal: AbortSignal): Promise<void>
}
