import { SystemClock, type Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import { createId } from '../../base/ids.ts'
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
import { launchServer, type LaunchedServer } from '../supervision/launch-server.ts'
import type { RefusedByServer } from '../supervision/server-connection.ts'
import { unprepared } from '../supervision/unprepared.ts'
import { WORKER_DEADLINES, type WorkerDeadlines } from '../supervision/worker-deadlines.ts'
import { WorkerLife } from '../supervision/worker-life.ts'
import { installedMlx, installedMlxVersion } from './find-mlx.ts'
import { MLX_LAUNCHER } from './mlx-launcher.ts'
import { mlxOptions } from './mlx-options.ts'
import { cacheBytes, MLX_CAPABILITIES, planMlx } from './mlx-plan.ts'
import { MlxVocabulary, type WireVocabulary } from './mlx-vocabulary.ts'
import { mlxStartFailure } from './start-failure.ts'

type ModelModules = typeof import('../../templates/chat-template.ts') & typeof import('./mlx-model.ts')

/** Templates, tools and forms are not needed before a model is loaded. */
async function importModel(): Promise<ModelModules> {
  const [{ ChatTemplate }, { MlxModel }] = await Promise.all([
    import('../../templates/chat-template.ts'),
    import('./mlx-model.ts'),
  ])
  return { ChatTemplate, MlxModel }
}

export interface MlxEngineOptions {
  /** Where `modelyard engines install` puts engines. Absent = only models that name a `python` can be loaded. */
  enginesDirectory?: string
  recordsDirectory?: string
  logDirectory?: string
  /** Default: the system's clock. */
  clock?: Clock
  deadlines?: Partial<WorkerDeadlines>
}

const LISTENING = /^listening on http:\/\/127\.0\.0\.1:(\d+)/
const DEFAULT_DRAFT_TOKENS = 3
const DEFAULT_PREFILL_STEP = 512
/** Python answers others only between two steps of the one that computes. */
const DEADLINES: WorkerDeadlines = { ...WORKER_DEADLINES, wake: 15_000, silence: 60_000 }

/**
 * mlx_lm's server, one supervised Python process for each loaded model: safetensors on Apple silicon, and on Linux's CPU. Templates, tools,
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

  async detect(): Promise<Availability> {
    const { enginesDirectory } = this.#options
    const version = enginesDirectory === undefined ? undefined : await installedMlxVersion(enginesDirectory)
    if (version !== undefined) return { available: true, version }
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
    const started = await this.#launch(plan, python, signal)
    try {
      onProgress({ stage: 'preparing' })
      return await this.#prepare(plan, started, signal)
    } catch (error) {
      started.child.kill('its load has failed')
      await started.child.exited
      await started.connection.close()
      throw signal.aborted
        ? loadAborted(signal)
        : unprepared(`"${plan.model}" could not be loaded: its mlx worker failed`, error)
    }
  }

  async #python({ spec }: LoadPlan): Promise<string> {
    const { python } = mlxOptions(spec)
    if (python !== undefined) return python
    const { enginesDirectory } = this.#options
    if (enginesDirectory !== undefined && (await installedMlxVersion(enginesDirectory)) !== undefined)
      return installedMlx(enginesDirectory).python
    throw new ModelyardError(
      'engine_missing',
      'The engine mlx is not installed. Install it: modelyard engines install mlx',
    )
  }

  async #launch(plan: LoadPlan, python: string, signal: AbortSignal): Promise<LaunchedServer> {
    const { recordsDirectory, logDirectory } = this.#options
    const key = createId('')
    const threads = String(plan.threads)
    return await launchServer({
      command: python,
      args: ['-c', MLX_LAUNCHER, ...launchArguments(plan)],
      clock: this.#clock,
      label: plan.model,
      recordsDirectory,
      logDirectory,
      environment: {
        MODELYARD_SERVER_KEY: key,
        // Whatever a model's files name: nothing is fetched.
        HF_HUB_OFFLINE: '1',
        TRANSFORMERS_OFFLINE: '1',
        HF_HUB_DISABLE_TELEMETRY: '1',
        OMP_NUM_THREADS: threads,
        OPENBLAS_NUM_THREADS: threads,
        PYTHONUNBUFFERED: '1',
      },
      key,
      listening: LISTENING,
      signal,
      failure: (exit) => mlxStartFailure(plan, exit),
    })
  }

  async #prepare(
    plan: LoadPlan,
    { child, connection }: LaunchedServer,
    signal: AbortSignal,
  ): Promise<LoadedModel> {
    const [told, { ChatTemplate, MlxModel }] = await Promise.all([
      connection.json('/vocabulary', undefined, signal) as Promise<WireVocabulary>,
      importModel(),
    ])
    const vocabulary = new MlxVocabulary(told, connection)
    const source = plan.facts.safetensors?.chatTemplate ?? told.template ?? undefined
    const { controlTexts, endTexts, userDefinedTexts } = vocabulary
    const template = new ChatTemplate({
      ...(source !== undefined && { source }),
      ...(told.begin !== null && { bosToken: told.begin }),
      ...(told.end !== null && { eosToken: told.end }),
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
    const host = { plan, connection, vocabulary, template, draftTokens }
    return new MlxModel(plan, {
      child,
      life,
      host: { ...host, clock: this.#clock, moved: () => life.moved() },
    })
  }
}

/** The cache of beginnings is bounded by what is booked for it, and holds one for each slot and those that go. */
function launchArguments({ facts, spec, slots, contextSize }: LoadPlan): string[] {
  const { adapter, draft, prefillStep = DEFAULT_PREFILL_STEP } = mlxOptions(spec)
  const bytes = facts.safetensors === undefined ? 0 : cacheBytes(facts.safetensors, contextSize * slots)
  const named: Record<string, string | number | undefined> = {
    model: facts.path,
    'log-level': 'WARNING',
    'decode-concurrency': slots,
    'prompt-concurrency': Math.min(slots, 8),
    'prefill-step-size': prefillStep,
    'prompt-cache-size': 2 * slots,
    'prompt-cache-bytes': bytes,
    'adapter-path': adapter,
    'draft-model': draft,
  }
  return Object.entries(named).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)],
  )
}

/** The launcher checks nothing that was not checked here: what it refuses is its fault. */
function refused({ message }: RefusedByServer): ModelyardError {
  return new ModelyardError('engine_failed', `The mlx worker failed: ${message}`)
}
