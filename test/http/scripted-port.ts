import { abortSignalOf, Cancellation } from '../../src/base/cancellation.ts'
import { ModelyardError } from '../../src/base/errors.ts'
import { nearestNames } from '../../src/base/nearest.ts'
import type { ModelCollection, ModelListing, YardPort } from '../../src/dialects/yard-port.ts'
import { SCRIPTED_CAPABILITIES } from '../../src/engines/scripted/scripted-plan.ts'
import { unsupportedFeature } from '../../src/runs/unsupported-feature.ts'
import type { Run, RunInfo, RunRequest } from '../../src/runs/run.ts'
import type { Part, PartStream, Result } from '../../src/tasks/part.ts'

/** A piece of a script: a part, something to wait for, an error to throw. */
export type Step = Part | { wait: Promise<unknown> } | Error

export type Script = (request: RunRequest, signal: AbortSignal) => Iterable<Step> | AsyncIterable<Step>

export const STARTED: Part = { type: 'started', promptTokens: 7, cachedTokens: 3 }

export const RESULT: Result = {
  finishReason: 'stop',
  usage: { promptTokens: 7, cachedTokens: 3, completionTokens: 2, reasoningTokens: 0 },
  timings: { prefill: 4, decode: 10 },
}

/** A step that waits until it is opened. */
export function gate(): { open: () => void; wait: Promise<void> } {
  let open = (): void => undefined
  const wait = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, wait }
}

/** Rejects when the signal fires: what an engine does with an abort at any moment. */
export function waitForAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

export interface ScriptedPortOptions {
  models?: Partial<ModelListing>[]
  script?: Script
  result?: Result | ((request: RunRequest) => Result)
  collection?: ModelCollection
}

/** A YardPort that answers from a script and remembers what it was asked. */
export class ScriptedPort implements YardPort {
  readonly requests: RunRequest[] = []
  /** How runs ended, oldest first. */
  readonly outcomes: string[] = []
  readonly loads: { model: string; keepAlive?: number }[] = []
  readonly unloads: string[] = []
  active = 0
  script: Script
  result: Result | ((request: RunRequest) => Result)
  readonly models: ModelListing[]
  readonly collection?: ModelCollection

  constructor({ models = [{}], script, result = RESULT, collection }: ScriptedPortOptions = {}) {
    if (collection !== undefined) this.collection = collection
    this.models = models.map((model) => ({
      id: 'model-a',
      aliases: ['alias-a'],
      name: model.id ?? 'model-a',
      favourite: false,
      created: 1_700_000_000,
      state: 'ready',
      contextLength: 4096,
      capabilities: SCRIPTED_CAPABILITIES,
      purpose: 'generation',
      ...model,
    }))
    this.script = script ?? (() => [STARTED, { type: 'text', text: 'Hel' }, { type: 'text', text: 'lo' }])
    this.result = result
  }

  listModels(): Promise<ModelListing[]> {
    return Promise.resolve(this.models)
  }

  async findModel(name: string): Promise<ModelListing> {
    const found = this.models.find(({ id, aliases }) => id === name || aliases.includes(name))
    if (found !== undefined) return found
    const nearest = nearestNames(
      name,
      this.models.map(({ id }) => id),
    )
    throw new ModelyardError('model_not_found', `There is no model '${name}'.`, { details: { nearest } })
  }

  startRun(request: RunRequest): Run {
    const info: RunInfo = {
      id: 'run_1',
      model: request.model,
      instance: 'model-a#1',
      slot: 0,
      queueMs: 1.6,
      loadMs: 0,
      promptTokens: 0,
      cachedTokens: 0,
    }
    return { info, parts: this.#parts(request, info) }
  }

  async *#parts(request: RunRequest, info: RunInfo): PartStream {
    const signal = abortSignalOf(request.signal ?? new Cancellation())
    const { id, capabilities } = await this.findModel(request.model)
    const feature = unsupportedFeature(request.task, capabilities ?? SCRIPTED_CAPABILITIES)
    if (feature !== undefined) {
      const message = `The model "${id}" does not support ${feature === 'task' ? `${request.task.kind} tasks` : feature} here.`
      throw new ModelyardError('unsupported', message, { details: { feature } })
    }
    info.model = id
    this.requests.push(request)
    this.active++
    let outcome = 'returned'
    try {
      for await (const step of this.script(request, signal)) {
        if (step instanceof Error) throw step
        if ('wait' in step) {
          await Promise.race([step.wait, waitForAbort(signal)])
          continue
        }
        if (step.type === 'started') {
          info.promptTokens = step.promptTokens
          info.cachedTokens = step.cachedTokens
        }
        yield step
      }
      outcome = 'finished'
      return typeof this.result === 'function' ? this.result(request) : this.result
    } catch (error) {
      outcome = error instanceof ModelyardError ? error.code : 'threw'
      throw error
    } finally {
      this.active--
      this.outcomes.push(outcome)
    }
  }

  countTokens(): Promise<number> {
    return Promise.resolve(7)
  }

  loadModel(model: string, options: { keepAlive?: number } = {}): Promise<void> {
    const { keepAlive } = options
    this.loads.push(keepAlive === undefined ? { model } : { model, keepAlive })
    return Promise.resolve()
  }

  unloadModel(model: string): Promise<void> {
    this.unloads.push(model)
    return Promise.resolve()
  }
}
