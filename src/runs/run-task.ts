import { abortError, onAbort } from '../base/abort.ts'
import { Cancellation, type StopSignal } from '../base/cancellation.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { formatDuration } from '../base/durations.ts'
import { ModelyardError, toModelyardError } from '../base/errors.ts'
import { createOrderedId } from '../base/ids.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { AcquireRequest, Lease } from '../pool/lease.ts'
import { fingerprintOf, type Fingerprint } from '../tasks/fingerprint.ts'
import type { Part, PartStream, Result } from '../tasks/part.ts'
import type { CrashRecord } from './crash-record.ts'
import type { LiveRuns } from './live-runs.ts'
import type { LoadWish } from './load-wish.ts'
import { PartBuffer, type SlowReaderRule, type SourceOutcome } from './part-buffer.ts'
import type { PreparedModel } from './prepared-model.ts'
import type { RunLog } from './run-log.ts'
import { partsOf, type RunReader } from './run-reader.ts'
import type { Run, RunInfo, RunRequest } from './run.ts'
import { AnswerCollector } from './answer-collector.ts'
import { requirePossibleFormat } from './possible-format.ts'
import { runRecord } from './run-record.ts'
import { slotContent } from './slot-content.ts'
import { requireSupported } from './unsupported-feature.ts'

/**
 * Milliseconds after an abort in which the engine may end the run; then its caller waits no longer. An engine in the middle of a native step
 * hears nothing: it keeps its slot until the step is over.
 */
const ABORT_PATIENCE = 200

/** Everything a run needs of the yard. */
export interface RunSurroundings {
  clock: Clock
  bus: EventBus
  log: RunLog
  crashes: CrashRecord
  live: LiveRuns
  prepare(model: string, signal: StopSignal, wish?: LoadWish): PreparedModel | Promise<PreparedModel>
  acquire(request: AcquireRequest): Promise<Lease>
  slowReader: { capacity: number; rule: SlowReaderRule }
}

/** Starts a run: resolve → lease → engine → stream → account. What is wrong comes out of whoever reads it. */
export function startRun(surroundings: RunSurroundings, request: RunRequest): Run {
  const info: RunInfo = {
    id: createOrderedId('run_', surroundings.clock.wallTime()),
    model: request.model,
    queueMs: 0,
    loadMs: 0,
    promptTokens: 0,
    cachedTokens: 0,
  }
  return new StartedRun(info, new RunningTask(surroundings, request, info))
}

/** Most runs are read by their reader: the stream is made for who asks for it. */
class StartedRun implements Run {
  readonly info: RunInfo
  readonly reader: RunReader
  #parts: PartStream | undefined

  constructor(info: RunInfo, reader: RunReader) {
    this.info = info
    this.reader = reader
  }

  get parts(): PartStream {
    this.#parts ??= partsOf(this.reader)
    return this.#parts
  }
}

/** One execution of a task, from the resolved name to the row in the log. */
class RunningTask implements RunReader {
  readonly #surroundings: RunSurroundings
  readonly #request: RunRequest
  readonly #info: RunInfo
  /** Of the attempt under way. A lease whose worker died fires it too, so that the second attempt has one of its own (R11). */
  #cancellation = new Cancellation()
  /** What the engine says in that attempt. */
  #buffer: PartBuffer | undefined
  #patience: Timer | undefined
  /** Whether the caller or the time limit ended the run, whatever fired the cancellation first. */
  #isStopped = false
  readonly #startedAt: number
  readonly #wallStartedAt: number
  #answer = new AnswerCollector()
  #partsSent = false
  #isRepeated = false
  /** Whether a worker had it, so that the worker's death is this run's affair. */
  #wasLeased = false
  /** What holds on to the run, from its beginning to its end. */
  #ties: readonly (() => void)[] | undefined
  /** Of the last attempt. */
  #lease: Lease | undefined

  constructor(surroundings: RunSurroundings, request: RunRequest, info: RunInfo) {
    this.#surroundings = surroundings
    this.#request = request
    this.#info = info
    this.#startedAt = surroundings.clock.now()
    this.#wallStartedAt = surroundings.clock.wallTime()
  }

  async arrival(isWhole = false): Promise<Result | undefined> {
    try {
      if (this.#ties === undefined) await this.#begin()
      const result = await this.#arrivalOrRepeat(isWhole)
      if (result !== undefined) this.#end(result.finishReason, result)
      return result
    } catch (thrown) {
      const failure = toModelyardError(thrown)
      this.#buffer?.leave()
      this.#end(failure.code, undefined, failure)
      throw failure
    }
  }

  take(): Part | undefined {
    const part = this.#buffer?.take()
    if (part !== undefined) this.#partsSent = true
    return part
  }

  leave(): void {
    this.#buffer?.leave()
    if (this.#ties !== undefined) this.#end('aborted')
  }

  async #begin(): Promise<void> {
    const { live } = this.#surroundings
    const { model, task, request = null, wish } = this.#request
    const { kind } = task
    const end = live.begin({ info: this.#info, kind, request, startedAt: this.#wallStartedAt })
    this.#ties = [this.#listen(), end]
    const preparing = this.#surroundings.prepare(model, this.#cancellation, wish)
    const prepared = preparing instanceof Promise ? await preparing : preparing
    this.#info.model = prepared.id
    this.#refuseWhatCannotBe(prepared)
    if (task.kind === 'chat' && task.format !== undefined) await requirePossibleFormat(task)
  }

  /** Once, however it comes about. */
  #end(outcome: string, result?: Result, failure?: ModelyardError): void {
    const ties = this.#ties ?? []
    if (ties.length === 0) return
    this.#ties = []
    for (const untie of ties) untie()
    this.#patience?.cancel()
    this.#account(outcome, result, failure)
  }

  /** The caller's signal and the run's own time limit end everything below through one cancellation. */
  #listen(): () => void {
    const { signal, timeout } = this.#request
    const unlisten = onAbort(signal, () => this.#stop(abortError(signal)))
    if (timeout === undefined) return unlisten
    const message = `The run did not end within ${formatDuration(timeout)}.`
    const timer = this.#surroundings.clock.setTimer(timeout, () =>
      this.#stop(new ModelyardError('timeout', message)),
    )
    return () => {
      timer.cancel()
      unlisten()
    }
  }

  #stop(reason: ModelyardError): void {
    this.#isStopped = true
    this.#cancellation.abort(reason)
    this.#patience ??= this.#surroundings.clock.setTimer(ABORT_PATIENCE, () => this.#buffer?.abandon(reason))
  }

  #refuseWhatCannotBe(prepared: PreparedModel): void {
    const { task } = this.#request
    requireSupported(task, prepared)
    if (this.#surroundings.crashes.isPoison(prepared.id, task)) throw poisonError(prepared.id)
  }

  /**
   * R11: a worker that dies under a run that has not sent anything is replaced and the run repeated once. `started` goes out together with the first
   * part after it: until then the run can still be repeated on another worker without the client seeing two beginnings.
   */
  async #arrivalOrRepeat(isWhole: boolean): Promise<Result | undefined> {
    try {
      const buffer = this.#buffer ?? (await this.#attempt(isWhole))
      await buffer.arrival(isWhole ? Infinity : this.#partsSent ? 1 : 2)
      return resultIn(buffer)
    } catch (thrown) {
      if (!this.#mayRepeat(thrown)) throw this.#isRepeated ? this.#told(thrown) : thrown
    }
    this.#answer = new AnswerCollector()
    this.#cancellation = new Cancellation()
    this.#buffer = undefined
    this.#isRepeated = true
    return this.#arrivalOrRepeat(isWhole)
  }

  #mayRepeat(thrown: unknown): boolean {
    const isFirst = !this.#isRepeated && !this.#partsSent
    return isFirst && isWorkerDeath(thrown) && this.#wasLeased && !this.#isStopped
  }

  #told(thrown: unknown): unknown {
    const { crashes } = this.#surroundings
    const { model } = this.#info
    const isPoison = isWorkerDeath(thrown) && crashes.isPoison(model, this.#request.task)
    return isPoison ? poisonError(model, thrown) : thrown
  }

  async #attempt(isWhole: boolean): Promise<PartBuffer> {
    const fingerprint = this.#request.cache === 'none' ? [] : fingerprintOf(this.#request.task)
    const lease = await this.#surroundings.acquire(this.#acquireRequest(fingerprint))
    this.#wasLeased = true
    this.#lease = lease
    this.#noteLease(lease)
    this.#surroundings.crashes.runStarted(lease.instance)
    const run = lease.run(this.#request.task, { cancellation: this.#cancellation, isWhole })
    this.#buffer = new PartBuffer(run, {
      capacity: this.#surroundings.slowReader.capacity,
      whenFull: this.#surroundings.slowReader.rule,
      onPart: (part) => this.#notePart(part, lease),
      onSourceEnded: (outcome) => this.#giveBack(lease, fingerprint, outcome),
      cancelSource: (reason) => this.#cancellation.abort(reason),
    })
    return this.#buffer
  }

  #acquireRequest(fingerprint: Fingerprint): AcquireRequest {
    const { priority, keepAlive, within } = this.#request
    const onTicket = (ticket: string): void => {
      this.#info.ticket = ticket
    }
    const request: AcquireRequest = {
      model: this.#info.model,
      fingerprint,
      signal: this.#cancellation,
      onTicket,
    }
    if (priority !== undefined) request.priority = priority
    if (within !== undefined) request.within = within
    if (keepAlive !== undefined) request.keepAlive = keepAlive
    return request
  }

  #noteLease(lease: Lease): void {
    this.#info.instance = lease.instance
    this.#info.slot = lease.slot
    this.#info.queueMs += lease.waited.queue
    this.#info.loadMs += lease.waited.load
    this.#info.placement = lease.reason
  }

  /** The slot is given back in the step in which the engine ended, with what it holds now (F3, F11). */
  #giveBack(lease: Lease, fingerprint: Fingerprint, outcome: SourceOutcome): void {
    if ('error' in outcome && outcome.error.code === 'worker_exited') {
      this.#surroundings.crashes.workerDied(lease.instance, this.#info.model, this.#request.task)
    }
    if ('result' in outcome) this.#surroundings.crashes.answered(this.#info.model, this.#request.task)
    this.#surroundings.crashes.runEnded(lease.instance)
    lease.release(slotContent(this.#request, fingerprint, outcome, () => this.#answer.message()))
  }

  #notePart(part: Part, lease: Lease): void {
    this.#answer.add(part)
    if (part.type !== 'started') return
    this.#info.promptTokens = part.promptTokens
    this.#info.cachedTokens = part.cachedTokens
    lease.reportPrompt(part.promptTokens)
  }

  #account(outcome: string, result: Result | undefined, failure: ModelyardError | undefined): void {
    const { clock, log, bus } = this.#surroundings
    const record = runRecord({
      info: this.#info,
      request: this.#request,
      startedAt: this.#wallStartedAt,
      totalMs: clock.now() - this.#startedAt,
      outcome,
      result,
      failure,
      pieces: this.#answer.pieces,
      savedTime: (cachedTokens) => this.#lease?.savedTime(cachedTokens) ?? 0,
    })
    log.append(record)
    const { id: run, model, promptTokens, completionTokens, cachedTokens } = record
    bus.emit('run-finished', { run, model, outcome, promptTokens, completionTokens, cachedTokens })
  }
}

/** How the run ended, when all before that is taken; undefined while it has not. @throws what it failed with, when there is nothing but the beginning to take */
function resultIn({ outcome, first, count }: PartBuffer): Result | undefined {
  if (outcome === undefined) return undefined
  const isAllTold = first === undefined || (count === 1 && first.type === 'started')
  if ('error' in outcome && isAllTold) throw outcome.error
  return first === undefined && 'result' in outcome ? outcome.result : undefined
}

function isWorkerDeath(thrown: unknown): boolean {
  return thrown instanceof ModelyardError && thrown.code === 'worker_exited'
}

function poisonError(model: string, cause?: unknown): ModelyardError {
  const message = `This request ended two workers of "${model}" and is refused for ten minutes; the model itself is fine. Change the request.`
  return new ModelyardError('request_crashes_worker', message, { details: { model }, cause })
}
