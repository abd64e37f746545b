import type { PartStream } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import { stopOf, type LoadPlan, type RunOptions } from '../engine.ts'
import { ServerModel, type ServerModelParts } from '../supervision/server-model.ts'
import { requireTask } from '../task-checks.ts'
import type { MlxHost } from './mlx-host.ts'
import { mlxPromptOf } from './mlx-prompt.ts'
import { runMlx, type TextTask } from './mlx-run.ts'

export interface MlxModelParts extends ServerModelParts {
  host: MlxHost
}

/** A model in an mlx_lm worker. */
export class MlxModel extends ServerModel {
  readonly #host: MlxHost

  constructor(plan: LoadPlan, parts: MlxModelParts) {
    super(plan, parts)
    this.#host = parts.host
  }

  override run(task: Task, options: RunOptions): PartStream {
    const { keptPrefix } = options
    return this.life.stream(stopOf(options), (both) =>
      runMlx(this.#textTask(task), { keptPrefix, signal: both }, this.#host),
    )
  }

  override async countTokens(task: Task, signal?: AbortSignal): Promise<number> {
    return await this.life.during(signal, async (both) => {
      const { tokens } = await mlxPromptOf(this.#textTask(task), this.#host, both)
      return tokens.length
    })
  }

  /** One real token. */
  override async warmUp(signal: AbortSignal): Promise<void> {
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

  #textTask(task: Task): TextTask {
    requireTask(task, this.plan)
    return task as TextTask
  }
}
