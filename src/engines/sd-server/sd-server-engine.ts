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
import type { LaunchedServer } from '../supervision/launch-server.ts'
import type { RefusedByServer } from '../supervision/server-connection.ts'
import type { ServerEngineOptions } from '../supervision/server-engine-options.ts'
import { WORKER_DEADLINES, type WorkerDeadlines } from '../supervision/worker-deadlines.ts'
import { WorkerLife } from '../supervision/worker-life.ts'
import { findSdServer } from './find-sd-server.ts'
import { inspectImageModel } from './inspect-image-model.ts'
import { complaintsIn, type LogNews } from './log-line.ts'
import { sdServerOptions } from './sd-server-options.ts'
import { planSdServer, SD_SERVER_CAPABILITIES } from './sd-server-plan.ts'
import { startSdServer } from './start-sd-server.ts'

/** A step of a large model takes minutes on a processor (247 s were seen: issue 1044), and its line comes with the next one. */
const DEADLINES: WorkerDeadlines = { ...WORKER_DEADLINES, wake: 15_000, silence: 60_000, stall: 1_800_000 }

/**
 * stable-diffusion.cpp's own server, one supervised process for each loaded model: pictures of texts. Requests go to its native routes
 * (`/sdcpp/v1`), which read no commands out of a text. Written after its source as of September 2026; no weights for it can be had here.
 */
export class SdServerEngine implements Engine {
  readonly name = 'sd-server'
  readonly capabilities: EngineCapabilities = SD_SERVER_CAPABILITIES
  readonly #options: ServerEngineOptions
  readonly #clock: Clock

  constructor(options: ServerEngineOptions = {}) {
    this.#options = options
    this.#clock = options.clock ?? new SystemClock()
  }

  async detect(spec?: ModelSpec): Promise<Availability> {
    const found = await findSdServer(spec && sdServerOptions(spec).binary)
    if ('reason' in found) return { available: false, ...found }
    return { available: true, version: found.version, details: { command: found.command } }
  }

  async inspectFiles(spec: ModelSpec, path: string): Promise<ModelFacts> {
    return await inspectImageModel(spec, path)
  }

  plan(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
    return planSdServer(spec, facts, host)
  }

  async load(plan: LoadPlan, options: LoadOptions): Promise<LoadedModel> {
    const { signal, onProgress } = options
    if (signal.aborted) throw loadAborted(signal)
    onProgress({ stage: 'starting' })
    const found = await findSdServer(sdServerOptions(plan.spec).binary)
    if ('reason' in found) throw new ModelyardError('engine_missing', `${found.reason} ${found.remedy}`)
    if (signal.aborted) throw loadAborted(signal)
    const { recordsDirectory, logDirectory } = this.#options
    const news = new NewsDesk(onProgress)
    const started = await startSdServer(plan, {
      ...options,
      command: found.command,
      clock: this.#clock,
      recordsDirectory,
      logDirectory,
      onNews: (told) => news.take(told),
    })
    onProgress({ stage: 'preparing' })
    return await this.#open(plan, started, news)
  }

  async #open(plan: LoadPlan, { child, connection }: LaunchedServer, news: NewsDesk): Promise<LoadedModel> {
    const { SdServerModel } = await import('./sd-server-model.ts')
    const { deadlines, deviceBytes = () => ({}) } = this.#options
    const life = new WorkerLife({
      engine: this.name,
      model: plan.model,
      child,
      connection,
      clock: this.#clock,
      deadlines: { ...DEADLINES, ...deadlines },
      refused: (refusal) => refused(refusal, plan),
      onGone: async () => undefined,
    })
    news.handTo(() => life.moved())
    const host = {
      plan,
      connection,
      clock: this.#clock,
      moved: () => life.moved(),
      complaint: () => complaintsIn(child.process.logTail).at(-1),
    }
    return new SdServerModel(plan, { child, life, host, deviceBytes })
  }
}

/** Where the lines of the program's output go: to the load at first, then to who watches the model. */
class NewsDesk {
  readonly #onProgress: LoadOptions['onProgress']
  #onMoved: (() => void) | undefined
  #fraction = 0

  constructor(onProgress: LoadOptions['onProgress']) {
    this.#onProgress = onProgress
  }

  /** The load is over. */
  handTo(onMoved: () => void): void {
    this.#onMoved = onMoved
  }

  take(news: LogNews): void {
    if (this.#onMoved !== undefined) return this.#onMoved()
    // Each file has a bar of its own.
    if (news.stage !== 'reading' || news.fraction <= this.#fraction) return
    this.#fraction = news.fraction
    this.#onProgress({ stage: 'loading', fraction: news.fraction })
  }
}

/** What is wrong with a request was found before: what the server refuses is the engine's fault. */
function refused({ refusal }: RefusedByServer, { model }: LoadPlan): ModelyardError {
  const reason = (refusal.error.message ?? `HTTP ${refusal.status}`).slice(0, 300)
  return new ModelyardError(
    'engine_failed',
    `The sd-server worker of "${model}" refused the request: ${reason}`,
    {
      details: { status: refusal.status },
    },
  )
}
