import { readFile } from 'node:fs/promises'
import { SystemClock, type Clock } from '../../base/clock.ts'
import { readShape } from '../../base/shape.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import {
  loadAborted,
  loadFailed,
  type Availability,
  type Engine,
  type EngineCapabilities,
  type LoadedModel,
  type LoadOptions,
  type LoadPlan,
} from '../engine.ts'
import { Lifetime } from '../lifetime.ts'
import { compileScript, type CompiledEntry } from './script.ts'
import { ScriptedModel } from './scripted-model.ts'
import type { FailLoad, ScriptedOptions, ScriptEntry } from './scripted-options.ts'
import { scriptShape } from './scripted-shapes.ts'
import { planScripted, SCRIPTED_CAPABILITIES, scriptedOptions } from './scripted-plan.ts'

export interface ScriptedEngineOptions {
  /** Default: the system's clock. */
  clock?: Clock
  /** Ends the process for `exitAt`. Given in a worker process; absent = only the loaded model is gone. */
  crash?: () => void
}

/**
 * The fake engine for people who test their clients, and for our own tests: no weights, answers from a script, declared memory and
 * load time. Everything another engine can do or suffer can be said in the script (see {@link ScriptedOptions}).
 */
export class ScriptedEngine implements Engine {
  readonly name = 'scripted'
  readonly capabilities: EngineCapabilities = SCRIPTED_CAPABILITIES
  readonly #clock: Clock
  readonly #crash: (() => void) | undefined
  readonly #failedLoads = new Map<string, number>()

  constructor({ clock = new SystemClock(), crash }: ScriptedEngineOptions = {}) {
    this.#clock = clock
    this.#crash = crash
  }

  async detect(): Promise<Availability> {
    return { available: true, version: '1' }
  }

  plan(spec: ModelSpec, facts: ModelFacts): LoadPlan {
    return planScripted(spec, facts)
  }

  async load(plan: LoadPlan, { signal, onProgress }: LoadOptions): Promise<LoadedModel> {
    const options = scriptedOptions(plan.spec)
    const lifetime = new Lifetime(plan.model, this.#clock, this.#crash)
    if (signal.aborted) throw loadAborted(signal)
    onProgress({ stage: 'starting' })
    await this.#pretendToLoad(options.loadTime ?? 0, lifetime, { signal, onProgress })
    this.#failIfScripted(plan.model, options.failLoad)
    const script = await readScript(options.script)
    if (signal.aborted) throw loadAborted(signal)
    onProgress({ stage: 'preparing' })
    return new ScriptedModel(plan, options, script, lifetime)
  }

  async #pretendToLoad(
    loadTime: number,
    lifetime: Lifetime,
    { signal, onProgress }: LoadOptions,
  ): Promise<void> {
    for (let step = 0; step < PROGRESS_STEPS; step++) {
      onProgress({ stage: 'loading', fraction: step / PROGRESS_STEPS })
      if (loadTime === 0) continue
      try {
        await lifetime.wait(loadTime / PROGRESS_STEPS, signal)
      } catch {
        throw loadAborted(signal)
      }
    }
  }

  #failIfScripted(model: string, failLoad: FailLoad | undefined): void {
    if (failLoad === undefined) return
    const failed = this.#failedLoads.get(model) ?? 0
    if (failLoad.times !== undefined && failed >= failLoad.times) return
    this.#failedLoads.set(model, failed + 1)
    throw loadFailed(failLoad.class, failLoad.message)
  }
}

const PROGRESS_STEPS = 4

async function readScript(script: ScriptedOptions['script']): Promise<CompiledEntry[] | undefined> {
  if (script === undefined) return undefined
  return compileScript(typeof script === 'string' ? await readScriptFile(script) : script)
}

/** A YAML or JSON file with the list of entries; JSON is YAML too. */
async function readScriptFile(path: string): Promise<ScriptEntry[]> {
  try {
    const text = await readFile(path, 'utf8')
    const { parse } = await import('yaml')
    return readShape(scriptShape, parse(text), { directory: '.', what: path })
  } catch (error) {
    throw loadFailed('bad_option', `The script cannot be used: ${(error as Error).message}`, error)
  }
}
