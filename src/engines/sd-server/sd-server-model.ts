import { devicesAmong, type MeasuredFootprint } from '../../host/memory.ts'
import type { ImageTask } from '../../tasks/image-task.ts'
import type { PartStream } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan, RunOptions } from '../engine.ts'
import { ServerModel, type ServerModelParts } from '../supervision/server-model.ts'
import { requireTask } from '../task-checks.ts'
import { SIZE_STEP } from './image-size.ts'
import { runImages, type SdServerHost } from './image-run.ts'

export interface SdServerModelParts extends ServerModelParts {
  host: SdServerHost
  /** What a process holds on devices. */
  deviceBytes: (pid: number) => MeasuredFootprint
}

/** The smallest picture there is, in as few steps as every scheduler can divide. */
const SMALLEST: ImageTask = {
  kind: 'image',
  prompt: 'a',
  width: SIZE_STEP,
  height: SIZE_STEP,
  count: 1,
  steps: 2,
  seed: 0,
}

/** A diffusion model in an sd-server of its own. */
export class SdServerModel extends ServerModel {
  readonly #parts: SdServerModelParts

  constructor(plan: LoadPlan, parts: SdServerModelParts) {
    super(plan, parts)
    this.#parts = parts
  }

  override run(task: Task, { signal }: RunOptions): PartStream {
    return this.life.stream(signal, (both) => {
      requireTask(task, this.plan)
      return runImages(task as ImageTask, both, this.#parts.host)
    })
  }

  /** Nothing of a text is counted: the server tells no tokens. */
  override async countTokens(task: Task): Promise<number> {
    this.life.check()
    requireTask(task, this.plan)
    return 0
  }

  /** One real picture: newer builds read the weights only now. */
  override async warmUp(signal: AbortSignal): Promise<void> {
    const parts = this.run(SMALLEST, { slot: 0, keptPrefix: 0, signal })
    for (let step = await parts.next(); step.done !== true;) step = await parts.next()
  }

  override async memory(): Promise<MeasuredFootprint> {
    const memory = await super.memory()
    const isOnDevice = devicesAmong(this.plan.footprint).length > 0
    return isOnDevice ? { ...this.#parts.deviceBytes(this.pid), ...memory } : memory
  }
}
