import { SystemClock, type Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import {
  loadAborted,
  type Availability,
  type Engine,
  type EngineCapabilities,
  type HostFacts,
  type LoadedModel,
  type LoadOptions,
  type LoadPlan,
} from '../engine.ts'
import { endFailed, type LaunchedServer } from '../supervision/launch-server.ts'
import type { RefusedByServer } from '../supervision/server-connection.ts'
import type { ServerEngineOptions } from '../supervision/server-engine-options.ts'
import { unprepared } from '../supervision/unprepared.ts'
import { WORKER_DEADLINES, type WorkerDeadlines } from '../supervision/worker-deadlines.ts'
import { WorkerLife } from '../supervision/worker-life.ts'
import { installedMlx, installedMlxManifest, MLX_VERSIONS } from './find-mlx.ts'
import { launchMlx } from './launch-mlx.ts'
import { mlxOptions } from './mlx-options.ts'
import { MLX_CAPABILITIES, planMlx } from './mlx-plan.ts'
import { noMlxVlm } from './mlx-vision.ts'
import { MlxVocabulary, type WireVocabulary } from './mlx-vocabulary.ts'

/** What it computes on is the machine's memory: there is no device to measure. */
export interface MlxEngineOptions extends Omit<ServerEngineOptions, 'deviceBytes'> {
  /** Where `modelyard engines install` puts engines. Absent = only models that name a `python` can be loaded. */
  enginesDirectory?: string
}

const DEFAULT_DRAFT_TOKENS = 3
/** Status of what the asker can do something about. */
const REFUSED = 422
/** Python answers others only between two steps of the one that computes. */
const DEADLINES: WorkerDeadlines = { ...WORKER_DEADLINES, wake: 15_000, silence: 60_000 }

/**
 * mlx_lm's server, and mlx_vlm's for models that see, one supervised Python process for each loaded model: safetensors on Apple silicon, and on Linux's CPU. Templates, tools,
 * formats, limits and stop strings are ours, as with every token-level engine. Nothing is fetched from a hub.
 */
export class MlxEngine implements Engine {
  readonly name = 'mlx'
  readonly capabilities: EngineCapabilities = MLX_CAPABILITIES
  readonly #options: MlxEngineOptions
  readonly #clock: Clock

  constructor(options: MlxEngineOptions = {}) {
    this.#options = options
    this.#clock = options.clock ?? new SystemClock()
  }

  async detect(spec?: ModelSpec): Promise<Availability> {
    // What is in an environment of the user's own shows when it is started.
    const python = spec && mlxOptions(spec).python
    if (python !== undefined) return { available: true, version: 'of its own', details: { python } }
    const { enginesDirectory } = this.#options
    const found = enginesDirectory === undefined ? undefined : await installedMlxManifest(enginesDirectory)
    if (found !== undefined) {
      const { version, vision } = found
      return { available: true, version, ...(vision !== undefined && { details: { 'mlx-vlm': vision } }) }
    }
    return {
      available: false,
      reason: 'mlx-lm is not installed.',
      remedy: 'Install it: modelyard engines install mlx',
    }
  }

  plan(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
    return planMlx(spec, facts, host)
  }

  async load(plan: LoadPlan, { signal, onProgress }: LoadOptions): Promise<LoadedModel> {
    if (signal.aborted) throw loadAborted(signal)
    onProgress({ stage: 'starting' })
    const python = await this.#python(plan)
    if (signal.aborted) throw loadAborted(signal)
    const { recordsDirectory, logDirectory } = this.#options
    const started = await launchMlx(plan, {
      python,
      clock: this.#clock,
      recordsDirectory,
      logDirectory,
      signal,
    })
    try {
      onProgress({ stage: 'preparing' })
      return await this.#prepare(plan, started, signal)
    } catch (error) {
      await endFailed(started.child, started.connection)
      throw signal.aborted
        ? loadAborted(signal)
        : unprepared(`"${plan.model}" could not be loaded: its mlx worker failed`, error)
    }
  }

  async #python({ model, spec, capabilities }: LoadPlan): Promise<string> {
    const { python } = mlxOptions(spec)
    if (python !== undefined) return python
    const { enginesDirectory } = this.#options
    const found = enginesDirectory === undefined ? undefined : await installedMlxManifest(enginesDirectory)
    if (capabilities.images && found?.vision !== MLX_VERSIONS['mlx-vlm']) throw noMlxVlm(model)
    if (enginesDirectory !== undefined && found !== undefined) return installedMlx(enginesDirectory).python
    throw new ModelyardError(
      'engine_missing',
      'The engine mlx is not installed. Install it: modelyard engines install mlx',
    )
  }

  async #prepare(
    plan: LoadPlan,
    { child, connection }: LaunchedServer,
    signal: AbortSignal,
  ): Promise<LoadedModel> {
    // Templates, tools and forms are not needed before a model is loaded.
    const [told, { ChatTemplate }, { MlxModel }] = await Promise.all([
      connection.json('/vocabulary', undefined, signal) as Promise<WireVocabulary>,
      import('../../templates/chat-template.ts'),
      import('./mlx-model.ts'),
    ])
    const vocabulary = new MlxVocabulary(told, connection)
    const { controlTexts, endTexts, userDefinedTexts } = vocabulary
    const template = new ChatTemplate({
      source: plan.facts.safetensors?.chatTemplate ?? told.template ?? undefined,
      bosToken: told.begin ?? undefined,
      eosToken: told.end ?? undefined,
      controlTexts,
      endTexts,
      userDefinedTexts,
    })
    const life = new WorkerLife({
      engine: this.name,
      model: plan.model,
      child,
      connection,
      clock: this.#clock,
      deadlines: { ...DEADLINES, ...this.#options.deadlines },
      refused,
      onGone: async () => undefined,
    })
    const { draftTokens = DEFAULT_DRAFT_TOKENS } = mlxOptions(plan.spec)
    const host = { plan, connection, vocabulary, template, draftTokens, image: told.image ?? undefined }
    return new MlxModel(plan, {
      child,
      life,
      host: { ...host, clock: this.#clock, moved: () => life.moved() },
    })
  }
}

/** A launcher refuses what only it can look into, images; for the rest it checks nothing that was not checked here: that is its fault. */
function refused({ message, refusal }: RefusedByServer): ModelyardError {
  if (refusal.status === REFUSED)
    return new ModelyardError('invalid_request', message, { details: { param: 'messages' } })
  return new ModelyardError('engine_failed', `The mlx worker failed: ${message}`)
}
