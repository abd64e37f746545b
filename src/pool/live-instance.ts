import type { Clock } from '../base/clock.ts'
import { ModelyardError, toModelyardError } from '../base/errors.ts'
import type {
  ExitReport,
  LoadedModel,
  LoadFailureClass,
  LoadOptions,
  LoadPlan,
  LoadProgress,
} from '../engines/engine.ts'
import type { HostReading, MeasuredFootprint } from '../host/memory.ts'
import type { ParkOrder, PoolFact } from './policy/messages.ts'
import { ProgressSteps } from './progress-steps.ts'
import type { SlotParking } from './slot-parking.ts'
import { departureOf, seeReturned, type Departure } from './return-watch.ts'

/** Milliseconds between measurements of an instance in use. */
const MEASURE_EVERY = 10_000

export interface LiveSurroundings {
  readonly clock: Clock
  /** The host's memory now; never throws. */
  readonly readHost: () => HostReading
  readonly load: (plan: LoadPlan, options: LoadOptions) => Promise<LoadedModel>
  /** What happened, for the policy. */
  readonly report: (fact: PoolFact) => void
  /** Milliseconds to wait for a device's memory to be seen back. */
  readonly patience: () => number
  /** Absent: nothing is ever written. */
  readonly parking: SlotParking | undefined
  readonly onMeasured: (measured: MeasuredFootprint) => void
}

/** The living side of an instance: performs what the policy orders and reports what comes of it. Its methods never reject. */
export class LiveInstance {
  readonly id: string
  readonly plan: LoadPlan
  readonly #around: LiveSurroundings
  readonly #controller = new AbortController()
  readonly #steps: ProgressSteps
  #loaded: LoadedModel | undefined
  #measured: MeasuredFootprint | undefined
  #measuredAt = Number.NEGATIVE_INFINITY
  #departure: Departure | undefined

  constructor(id: string, plan: LoadPlan, around: LiveSurroundings) {
    this.id = id
    this.plan = plan
    this.#around = around
    this.#steps = new ProgressSteps(around.clock, (fraction) => this.#reportProgress(fraction))
  }

  get loaded(): LoadedModel | undefined {
    return this.#loaded
  }

  async load(): Promise<void> {
    const onProgress = (progress: LoadProgress): void => this.#noteProgress(progress)
    try {
      const { signal } = this.#controller
      const loading = this.#around.load(this.plan, { signal, onProgress })
      const loaded = await loading.finally(() => this.#steps.end())
      this.#loaded = loaded
      void this.#watchExit(loaded)
      const { stateIdentity, savesWhileAnswering = false } = loaded
      const identity = stateIdentity === undefined ? {} : { stateIdentity, savesWhileAnswering }
      this.#around.report({ type: 'load-finished', instance: this.id, ...identity })
    } catch (thrown) {
      this.#reportFailure('load-failed', thrown)
    }
  }

  #noteProgress(progress: LoadProgress): void {
    if (progress.stage === 'loading') return this.#steps.take(progress.fraction)
    this.#steps.end()
    this.#reportProgress(undefined)
  }

  #reportProgress(fraction: number | undefined): void {
    this.#around.report({ type: 'load-progressed', instance: this.id, fraction })
  }

  #reportFailure(type: 'load-failed' | 'warm-up-failed', thrown: unknown): void {
    const error = toModelyardError(thrown, 'model_load_failed')
    const failure = (error.details['failure'] as LoadFailureClass | undefined) ?? failureOf(error)
    const logTail = (error.details['logTail'] as string[] | undefined) ?? []
    this.#around.report({ type, instance: this.id, error: error.toJSON(), failure, logTail })
  }

  cancel(): void {
    this.#controller.abort(new ModelyardError('aborted', `The load of ${this.id} was cancelled.`))
  }

  /** R12: one real token; then what it holds is read, so that ready means measured. */
  async warmUp(): Promise<void> {
    try {
      const begun = this.#around.clock.now()
      await this.#loaded?.warmUp(this.#controller.signal)
      const firstToken = this.#around.clock.now() - begun
      const measured = await this.#read()
      this.#around.report({ type: 'warm-up-finished', instance: this.id, measured, firstToken })
    } catch (thrown) {
      this.#reportFailure('warm-up-failed', thrown)
    }
  }

  /** After a lease: what it holds now, at most every 10 s. */
  measureSometimes(): void {
    if (this.#around.clock.now() - this.#measuredAt >= MEASURE_EVERY) void this.#measure()
  }

  async #measure(): Promise<void> {
    const measured = await this.#read()
    if (measured !== undefined)
      this.#around.report({ type: 'instance-measured', instance: this.id, measured })
  }

  /** Undefined when it cannot be read: then the promise stands. */
  async #read(): Promise<MeasuredFootprint | undefined> {
    this.#measuredAt = this.#around.clock.now()
    try {
      const measured = await this.#loaded?.memory()
      if (measured === undefined) return undefined
      this.#measured = measured
      this.#around.onMeasured(measured)
      return measured
    } catch {
      return undefined
    }
  }

  /** R8: orders the end, R16: after what it holds is written; the proof comes by way of the exit. */
  async unload(park: readonly ParkOrder[] = []): Promise<void> {
    this.#departure ??= departureOf(this.plan, this.#measured, this.#around.readHost())
    this.#controller.abort(new ModelyardError('aborted', `${this.id} is being unloaded.`))
    try {
      if (this.#loaded !== undefined && park.length > 0)
        await this.#around.parking?.parkAll(this.#loaded, park)
      await this.#loaded?.unload()
    } catch {
      // What does not end stays charged, and the policy reports it as stuck.
    }
  }

  async #watchExit(loaded: LoadedModel): Promise<void> {
    const report = await loaded.exited.catch((thrown: unknown): ExitReport => ({
      expected: false,
      reason: String(thrown),
      logTail: [],
    }))
    const departure = this.#departure ?? departureOf(this.plan, this.#measured, this.#around.readHost())
    const { reason, logTail } = report
    this.#around.report({ type: 'instance-exited', instance: this.id, reason, logTail })
    const { clock, readHost, patience } = this.#around
    const seen = await seeReturned(departure, readHost, clock, patience())
    this.#around.report({ type: 'memory-returned', instance: this.id, ...seen })
  }
}

function failureOf(error: ModelyardError): LoadFailureClass {
  if (error.code === 'aborted') return 'aborted'
  if (error.code === 'timeout') return 'timeout'
  if (error.code === 'engine_missing') return 'missing_engine'
  return error.code === 'model_file_invalid' ? 'bad_file' : 'crash'
}
