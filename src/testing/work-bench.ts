import assert from 'node:assert/strict'
import { SystemClock } from '../base/clock.ts'
import type { ModelyardError } from '../base/errors.ts'
import type { Engine, LoadedModel, LoadPlan, LoadProgress } from '../engines/engine.ts'
import type { Part, PartStream } from '../tasks/part.ts'
import type { Task } from '../tasks/task.ts'
import { readAll } from './contract-bench.ts'

/** What the contract needs to know of an engine that makes something else than text of a whole input: vectors, sound, labels. */
export interface WorkContractSubject {
  engine: Engine
  plan: () => LoadPlan | Promise<LoadPlan>
  /** A task, and what tells that its parts are right. */
  task: Task
  verify: (parts: readonly Part[]) => void
  /** A task that takes at least a second. */
  long: Task
  /** A task that the model refuses, and with which code. */
  refused: { task: Task; code: ModelyardError['code'] }
  /** The plan of a model with the same files, of which one is damaged. */
  corrupt: () => LoadPlan | Promise<LoadPlan>
  /** Present where each loaded model has an operating-system process of its own, which may be killed. */
  ownProcess?: true
  /** What is left in the world after a load was given up or failed; empty = nothing. Absent = cannot be told. */
  leftovers?: () => Promise<string[]>
}

export type WorkCheck = (bench: WorkBench) => Promise<void>

/** One shared model, and the few things that cases do with it. */
export class WorkBench {
  readonly subject: WorkContractSubject
  readonly clock: SystemClock = new SystemClock()
  #shared: Promise<LoadedModel> | undefined

  constructor(subject: WorkContractSubject) {
    this.subject = subject
  }

  shared(): Promise<LoadedModel> {
    this.#shared ??= this.load()
    return this.#shared
  }

  async load(
    plan?: LoadPlan,
    signal: AbortSignal = new AbortController().signal,
    onProgress: (progress: LoadProgress) => void = () => undefined,
  ): Promise<LoadedModel> {
    return this.subject.engine.load(plan ?? (await this.subject.plan()), { signal, onProgress })
  }

  start(model: LoadedModel, task: Task, signal: AbortSignal = new AbortController().signal): PartStream {
    return model.run(task, { slot: 0, keptPrefix: 0, signal })
  }

  async assertUsable(model: LoadedModel): Promise<void> {
    this.subject.verify((await readAll(this.start(model, this.subject.task))).parts)
  }

  async withOwnModel(use: (model: LoadedModel) => Promise<void>): Promise<void> {
    const model = await this.load()
    try {
      await use(model)
    } finally {
      await model.unload()
    }
  }

  async nothingLeft(): Promise<void> {
    assert.deepEqual((await this.subject.leftovers?.()) ?? [], [])
  }

  async close(): Promise<void> {
    const model = await this.#shared?.catch(() => undefined)
    await model?.unload()
  }
}
