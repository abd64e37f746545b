import { createRequire } from 'node:module'
import { abortError, onAbort } from '../../base/abort.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import { ModelyardError, toModelyardError } from '../../base/errors.ts'
import type { MeasuredFootprint } from '../../host/memory.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type {
  Availability,
  Engine,
  EngineCapabilities,
  HostFacts,
  LoadedModel,
  LoadOptions,
  LoadPlan,
} from '../engine.ts'
import { WORKER_DEADLINES, type WorkerDeadlines } from '../supervision/worker-deadlines.ts'
import { loadEndedByExit, loadRefused } from '../supervision/worker-exit.ts'
import { WorkerModel, type SlotSaving } from './worker-model.ts'
import { WorkerProcess } from './worker-process.ts'

/** Milliseconds after a load in which its first answer is not disturbed by the start of a spare, which keeps a core busy for as long. */
const SPARE_DELAY = 1000

export interface WorkerEngineOptions {
  /** What the child constructs: `node-llama-cpp`, `scripted`, or `module:` and the absolute path of a file that exports `createEngine(options)`. */
  engine: string
  /** The same engine here: name, capabilities, `detect` and `plan` are asked of it; nothing is loaded with it. */
  inner: Engine
  clock: Clock
  /** The child's program. Default: `#worker-main` of this package (`dist/worker.js`). */
  entry?: string
  /** Where running workers are recorded, for `endLeftovers`. Absent = they are not. */
  recordsDirectory?: string
  /** Where workers' output is kept, one file each. Absent = only the last 40 lines, in errors. */
  logDirectory?: string
  /** Plain data for the engine's constructor in the child. */
  engineOptions?: Record<string, unknown>
  /** Processes kept ready that have imported the engine already (R18); each costs its memory. Default 0. */
  spareWorkers?: number
  deadlines?: Partial<WorkerDeadlines>
  /** What a process holds on devices, where drivers tell. Absent = nobody tells, and what was promised stays booked. */
  deviceBytes?: (pid: number) => MeasuredFootprint
}

/** Runs an in-process engine in supervised child processes, one per loaded model (E7): a crash, a leak or an endless loop ends with the child. */
export class WorkerEngine implements Engine {
  readonly name: string
  readonly capabilities: EngineCapabilities
  readonly #options: WorkerEngineOptions
  readonly #deadlines: WorkerDeadlines
  readonly #spares = new Set<WorkerProcess>()
  #closed = false
  #timer: Timer | undefined

  constructor(options: WorkerEngineOptions) {
    this.name = options.inner.name
    this.capabilities = options.inner.capabilities
    this.#options = options
    this.#deadlines = { ...WORKER_DEADLINES, ...options.deadlines }
  }

  detect(spec?: ModelSpec): Promise<Availability> {
    return this.#options.inner.detect(spec)
  }

  plan(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
    return this.#options.inner.plan(spec, facts, host)
  }

  /** Pids of the waiting spares. */
  get sparePids(): number[] {
    return [...this.#spares].flatMap(({ alive, pid }) => (alive && pid !== undefined ? [pid] : []))
  }

  async load(plan: LoadPlan, { signal, onProgress }: LoadOptions): Promise<LoadedModel> {
    if (signal.aborted) throw abortError(signal)
    const worker = this.#takeWorker(plan.model)
    onProgress({ stage: 'starting' })
    worker.send({ type: 'load', plan })
    try {
      const saving = await this.#loaded(worker, signal, onProgress)
      const { clock, deviceBytes = () => ({}) } = this.#options
      return new WorkerModel({
        plan,
        worker,
        clock,
        deadlines: this.#deadlines,
        saving,
        deviceBytes,
      })
    } catch (error) {
      throw await this.#failedLoad(worker, signal, error)
    } finally {
      this.#prepareSparesSoon()
    }
  }

  #prepareSparesSoon(): void {
    const { spareWorkers = 0, clock } = this.#options
    if (spareWorkers === 0 || this.#closed) return
    this.#timer?.cancel()
    this.#timer = clock.setTimer(SPARE_DELAY, () => this.prepareSpares())
  }

  /** Starts the spares that are wanted and missing. Called by itself a second after each load. */
  prepareSpares(): void {
    const { spareWorkers = 0 } = this.#options
    for (const spare of this.#spares) if (!spare.alive) this.#spares.delete(spare)
    while (!this.#closed && this.#spares.size < spareWorkers) this.#spares.add(this.#startWorker('spare'))
  }

  /** Ends the spares. Loaded models are their owners' affair. */
  async close(): Promise<void> {
    this.#closed = true
    this.#timer?.cancel()
    const spares = [...this.#spares]
    this.#spares.clear()
    for (const spare of spares) spare.kill('it was a spare and is not needed any more')
    await Promise.all(spares.map((spare) => spare.exited))
  }

  #takeWorker(model: string): WorkerProcess {
    const spare = [...this.#spares].find(({ alive }) => alive)
    if (spare === undefined) return this.#startWorker(model)
    this.#spares.delete(spare)
    spare.assign(model)
    return spare
  }

  #startWorker(label: string): WorkerProcess {
    const { engine, clock, recordsDirectory, logDirectory, engineOptions = {} } = this.#options
    return new WorkerProcess({
      entry: this.#options.entry ?? workerEntry(),
      engine,
      engineOptions,
      clock,
      deadlines: this.#deadlines,
      label,
      ...(recordsDirectory === undefined ? {} : { recordsDirectory }),
      ...(logDirectory === undefined ? {} : { logDirectory }),
    })
  }

  #loaded(
    worker: WorkerProcess,
    signal: AbortSignal,
    onProgress: LoadOptions['onProgress'],
  ): Promise<SlotSaving> {
    let removeListener = (): void => undefined
    const outcome = new Promise<SlotSaving>((resolve, reject) => {
      removeListener = onAbort(signal, () => reject(abortError(signal)))
      void worker.exited.then((exit) => reject(loadEndedByExit(exit)))
      worker.listen((message) => {
        if (message.type === 'progress') onProgress(message.progress)
        else if (message.type === 'loaded') resolve(message)
        else if (message.type === 'load-failed') reject(ModelyardError.fromJSON(message.error))
      })
    })
    return outcome.finally(() => removeListener())
  }

  /** Whatever the reason: nothing stays in memory, and the last log lines are in the error (M10). */
  async #failedLoad(worker: WorkerProcess, signal: AbortSignal, thrown: unknown): Promise<ModelyardError> {
    const wasAlive = worker.alive
    worker.kill('its load has failed')
    const exit = await worker.exited
    if (signal.aborted) return abortError(signal)
    const error = toModelyardError(thrown, 'model_load_failed')
    return wasAlive ? loadRefused(error, exit) : error
  }
}

/** Resolved by the package's own `imports`, so that it is found from `src/` and from `dist/` alike. */
function workerEntry(): string {
  try {
    return createRequire(import.meta.url).resolve('#worker-main')
  } catch (cause) {
    const message = 'The worker program dist/worker.js is missing; build the package with "npm run build".'
    throw new ModelyardError('engine_missing', message, { cause })
  }
}
