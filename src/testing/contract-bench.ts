import assert from 'node:assert/strict'
import { sleep, SystemClock } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import type { LoadedModel, LoadOptions, LoadPlan, RunOptions } from '../engines/engine.ts'
import type { Part, PartStream, Result } from '../tasks/part.ts'
import type { Task } from '../tasks/task.ts'
import type { EngineContractSubject, KnownChat } from './contract-subject.ts'

/** A run that was read to its end. */
export interface WholeRun {
  parts: Part[]
  text: string
  result: Result
}

export const SLOTS = 4
export const CONTEXT = 2048

/** What the cases of the contract work with: the subject, one shared model, and the few things they all do. */
export class ContractBench {
  readonly subject: EngineContractSubject
  readonly clock: SystemClock = new SystemClock()
  #shared: Promise<LoadedModel> | undefined

  constructor(subject: EngineContractSubject) {
    this.subject = subject
  }

  /** The model that cases share as long as they leave it whole. */
  shared(): Promise<LoadedModel> {
    this.#shared ??= this.load()
    return this.#shared
  }

  async plan(
    size: { slots: number; contextSize: number } = { slots: SLOTS, contextSize: CONTEXT },
  ): Promise<LoadPlan> {
    return await this.subject.plan(size)
  }

  async load(plan?: LoadPlan, options: Partial<LoadOptions> = {}): Promise<LoadedModel> {
    const { signal = new AbortController().signal, onProgress = () => undefined } = options
    return await this.subject.engine.load(plan ?? (await this.plan()), { signal, onProgress })
  }

  /** A model of its own for one case, gone afterwards. */
  async withOwnModel(use: (model: LoadedModel) => Promise<void>): Promise<void> {
    const model = await this.load(await this.plan({ slots: 1, contextSize: CONTEXT }))
    try {
      await use(model)
    } finally {
      await model.unload()
    }
  }

  async close(): Promise<void> {
    const model = await this.#shared?.catch(() => undefined)
    await model?.unload()
  }

  /** One of the subject's chats, by its place. */
  chat(index: number): KnownChat {
    const chat = this.subject.chats[index]
    assert(chat !== undefined, 'the subject must have at least three chats')
    return chat
  }

  start(model: LoadedModel, task: Task, options: Partial<RunOptions> = {}): PartStream {
    return model.run(task, { slot: 0, keptPrefix: 0, signal: new AbortController().signal, ...options })
  }

  async run(model: LoadedModel, task: Task, options: Partial<RunOptions> = {}): Promise<WholeRun> {
    return await readAll(this.start(model, task, options))
  }

  /** The slot is whole: a known question on it has its known answer. */
  async assertUsable(model: LoadedModel, slot = 0): Promise<void> {
    const { task, answer } = this.chat(0)
    assert.equal((await this.run(model, task, { slot })).text, answer)
  }

  async pause(milliseconds: number): Promise<void> {
    await sleep(this.clock, milliseconds)
  }
}

export async function readAll(stream: PartStream): Promise<WholeRun> {
  const parts: Part[] = []
  let step = await stream.next()
  for (; step.done !== true; step = await stream.next()) parts.push(step.value)
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return { parts, text, result: step.value }
}

/** What a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  let thrown: unknown
  await assert.rejects(promise, (error: unknown) => {
    thrown = error
    return true
  })
  return thrown
}

/** The same for failures that must have one of our codes. */
export async function failure(
  promise: Promise<unknown>,
  code: ModelyardError['code'],
): Promise<ModelyardError> {
  const thrown = await rejection(promise)
  assert(thrown instanceof ModelyardError, `not a ModelyardError: ${String(thrown)}`)
  assert.equal(thrown.code, code, thrown.message)
  return thrown
}

/** Gives up one of two loads that were begun at once. @returns the model of the other */
export async function loadOneOfTwo(
  load: (signal: AbortSignal) => Promise<LoadedModel>,
): Promise<LoadedModel> {
  const giving = new AbortController()
  const given = load(giving.signal)
  given.catch(() => undefined)
  const kept = load(new AbortController().signal)
  giving.abort()
  await failure(given, 'aborted')
  return await kept
}
