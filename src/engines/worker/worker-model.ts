import { abortError, onAbort } from '../../base/abort.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { StopSignal } from '../../base/cancellation.ts'
import type { Clock } from '../../base/clock.ts'
import type { MeasuredFootprint } from '../../host/memory.ts'
import { measureProcessTree } from '../../host/process-memory.ts'
import type { Part, PartStream } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import { stopOf, type ExitReport, type LoadedModel, type LoadPlan, type RunOptions } from '../engine.ts'
import type { Call, CallValue, FromWorker } from './protocol.ts'
import type { WorkerDeadlines } from '../supervision/worker-deadlines.ts'
import { describeExit, workerExited, type WorkerExit } from '../supervision/worker-exit.ts'
import type { WorkerProcess } from './worker-process.ts'
import { WorkerQuestions } from './worker-questions.ts'
import { WorkerRun } from './worker-run.ts'
import { WorkerWatch } from '../supervision/worker-watch.ts'

/** What the engine can do of slots and files; without `stateIdentity` nothing. */
export type SlotSaving = Pick<LoadedModel, 'stateIdentity' | 'savesWhileAnswering'>

export interface WorkerModelOptions {
  plan: LoadPlan
  worker: WorkerProcess
  clock: Clock
  deadlines: WorkerDeadlines
  saving: SlotSaving
  /** What a process holds on devices. */
  deviceBytes: (pid: number) => MeasuredFootprint
}

/** A model in a worker process. Every promise it hands out is settled by the worker's answer or by its exit. */
export class WorkerModel implements LoadedModel {
  readonly plan: LoadPlan
  readonly takesStop = true
  readonly exited: Promise<ExitReport>
  lastProgress?: number
  readonly stateIdentity?: string
  readonly savesWhileAnswering: boolean
  readonly saveSlot?: (slot: number, path: string) => Promise<{ tokens: number; bytes: number }>
  readonly restoreSlot?: (slot: number, path: string) => Promise<boolean>
  readonly #worker: WorkerProcess
  readonly #clock: Clock
  readonly #deadlines: WorkerDeadlines
  readonly #watch: WorkerWatch
  readonly #runs = new Map<number, WorkerRun>()
  readonly #questions = new WorkerQuestions()
  readonly #deviceBytes: (pid: number) => MeasuredFootprint
  #lastId = 0
  #failure: ModelyardError | undefined
  #unloading: Promise<void> | undefined

  constructor({ plan, worker, clock, deadlines, saving, deviceBytes }: WorkerModelOptions) {
    this.plan = plan
    this.#worker = worker
    this.#clock = clock
    this.#deadlines = deadlines
    this.#deviceBytes = deviceBytes
    this.#watch = this.#createWatch()
    this.exited = worker.exited.then((exit) => this.#leave(exit))
    const { stateIdentity, savesWhileAnswering = false } = saving
    this.savesWhileAnswering = savesWhileAnswering
    if (stateIdentity !== undefined) {
      this.stateIdentity = stateIdentity
      this.saveSlot = (slot, path) =>
        this.#call({ method: 'saveSlot', slot, path }) as Promise<{ tokens: number; bytes: number }>
      this.restoreSlot = (slot, path) => this.#call({ method: 'restoreSlot', slot, path }) as Promise<boolean>
    }
    worker.listen((message) => this.#receive(message))
  }

  get pid(): number {
    return this.#worker.pid ?? 0
  }

  get logPath(): string | undefined {
    return this.#worker.logPath
  }

  run(task: Task, options: RunOptions): PartStream {
    const ready: Part[] = []
    const stop = stopOf(options)
    const takeReady = (): Part | undefined => (stop.aborted ? undefined : ready.shift())
    return Object.assign(this.#perform(task, options, stop, ready), { takeReady })
  }

  /** @param ready parts of the batch at hand, which the reader may take before it asks for the next */
  async *#perform(task: Task, options: RunOptions, stop: StopSignal, ready: Part[]): PartStream {
    const { id, run } = this.#startRun(task, options, stop)
    const removeListener = onAbort(stop, () => run.cancel())
    try {
      for (let batch = await run.nextBatch(); batch !== undefined; batch = await run.nextBatch()) {
        ready.push(...batch.parts)
        while (ready.length > 0 && !stop.aborted) yield ready.shift() as Part
        run.giveBack(batch.made)
      }
      return run.result()
    } finally {
      removeListener()
      run.cancel()
      // The pool gives the slot to the next one when this generator has ended: not before the worker is off it.
      await run.ended()
      this.#runs.delete(id)
      this.#rest()
    }
  }

  countTokens(task: Task, signal?: AbortSignal): Promise<number> {
    return this.#call({ method: 'countTokens', task }, signal) as Promise<number>
  }

  async warmUp(signal: AbortSignal): Promise<void> {
    await this.#call({ method: 'warmUp' }, signal)
  }

  shareCores(isAlone: boolean): void {
    const { promptThreads } = this.plan
    if (promptThreads !== undefined && this.#failure === undefined)
      this.#worker.send({ type: 'cores', isAlone })
  }

  async memory(): Promise<MeasuredFootprint> {
    const onDevices = Object.keys(this.plan.footprint).some((domain) => domain !== 'ram')
    const ram = await measureProcessTree(this.pid)
    if (this.#failure !== undefined) throw this.#failure
    if (ram !== undefined && !onDevices) return { ram }
    const own = (await this.#call({ method: 'memory' })) as MeasuredFootprint
    return ram === undefined ? own : { ...own, ...this.#deviceBytes(this.pid), ram }
  }

  async ping(signal?: AbortSignal): Promise<void> {
    await this.#ask((id) => this.#worker.send({ type: 'ping', id }), signal)
  }

  unload(): Promise<void> {
    this.#unloading ??= this.#worker.unload().then(() => undefined)
    return this.#unloading
  }

  #createWatch(): WorkerWatch {
    return new WorkerWatch({
      clock: this.#clock,
      deadlines: this.#deadlines,
      sendPing: () => this.#worker.send({ type: 'ping', id: 0 }),
      heldByReaders: () => this.#runs.size > 0 && [...this.#runs.values()].every((run) => !run.waiting),
      end: (reason) => this.#worker.kill(reason),
    })
  }

  #startRun(
    task: Task,
    { slot, keptPrefix }: RunOptions,
    signal: StopSignal,
  ): { id: number; run: WorkerRun } {
    if (signal.aborted) throw abortError(signal)
    if (this.#failure !== undefined) throw this.#failure
    const id = ++this.#lastId
    const run = new WorkerRun({
      clock: this.#clock,
      signal,
      abortDeadline: this.#deadlines.abort,
      sendCredit: (parts) => this.#worker.send({ type: 'credit', id, parts }),
      sendAbort: () => this.#worker.send({ type: 'abort', id }),
      stuck: () => this.#worker.kill(`it did not end an aborted run within ${this.#deadlines.abort} ms`),
    })
    this.#watch.begin()
    this.#worker.send({ type: 'run', id, task, slot, keptPrefix })
    this.#runs.set(id, run)
    return { id, run }
  }

  #call(call: Call, signal?: AbortSignal): Promise<CallValue> {
    return this.#ask((id) => this.#worker.send({ type: 'call', id, call }), signal)
  }

  /** Sends a question under a new id and waits for its answer, the worker's exit or the signal. */
  async #ask(send: (id: number) => void, signal?: AbortSignal): Promise<CallValue> {
    if (signal?.aborted === true) throw abortError(signal)
    if (this.#failure !== undefined) throw this.#failure
    const id = ++this.#lastId
    this.#watch.begin()
    send(id)
    const answer = this.#questions.wait(id, signal, () => this.#worker.send({ type: 'abort', id }))
    try {
      return await answer
    } finally {
      this.#rest()
    }
  }

  #rest(): void {
    if (this.#runs.size === 0 && this.#questions.size === 0) this.#watch.end()
  }

  #receive(message: FromWorker): void {
    this.#watch.heard()
    if (message.type === 'pong') {
      if (message.quiet !== undefined) this.#moved(this.#clock.now() - message.quiet)
      this.#questions.answer(message.id, null)
      return
    }
    this.#watch.moved()
    if (message.type === 'parts') {
      this.#moved(this.#clock.now())
      this.#runs.get(message.id)?.accept(message)
    } else if (message.type === 'result') this.#runs.get(message.id)?.end({ result: message.result })
    else if (message.type === 'returned') this.#questions.answer(message.id, message.value)
    else if (message.type === 'failed') this.#fail(message.id, ModelyardError.fromJSON(message.error))
  }

  #fail(id: number, error: ModelyardError): void {
    this.#runs.get(id)?.end({ error })
    this.#questions.fail(id, error)
  }

  #moved(at: number): void {
    if (this.lastProgress !== undefined && at <= this.lastProgress) return
    this.lastProgress = at
    this.#watch.moved()
  }

  /** The process is gone: whoever waits is told why, with its last words. */
  #leave(exit: WorkerExit): ExitReport {
    this.#failure = workerExited(exit)
    this.#watch.end()
    const expected = this.#unloading !== undefined && exit.ended === undefined
    // One that was sent while the worker was about to go has no other word of its end.
    const error = expected ? runCut(this.plan.model) : this.#failure
    for (const run of this.#runs.values()) run.end({ error })
    this.#questions.failAll(this.#failure)
    return { expected, reason: `The worker ${describeExit(exit)}.`, logTail: exit.logTail }
  }
}

function runCut(model: string): ModelyardError {
  return new ModelyardError('run_cut', `Model "${model}" was unloaded while it answered.`)
}
