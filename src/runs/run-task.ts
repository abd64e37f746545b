import { abortError, onAbort } from '../base/abort.ts'
import type { Timer } from '../base/clock.ts'
import { formatDuration } from '../base/durations.ts'
import { ModelyardError, toModelyardError } from '../base/errors.ts'
import { createOrderedId } from '../base/ids.ts'
import type { Lease } from '../pool/lease.ts'
import type { Part, PartStream, Result } from '../tasks/part.ts'
import { poisonError } from './crash-record.ts'
import type { PartBuffer } from './part-buffer.ts'
import type { PreparedModel } from './prepared-model.ts'
import { partsOf, type RunReader } from './run-reader.ts'
import type { Run, RunInfo, RunRequest } from './run.ts'
import { requirePossibleFormat } from './possible-format.ts'
import { RunAttempt } from './run-attempt.ts'
import { runRecord } from './run-record.ts'
import type { RunSurroundings } from './run-surroundings.ts'
import { requireSupported } from './unsupported-feature.ts'

/**
 * Milliseconds after an abort in which the engine may end the run; then its caller waits no longer. An engine in the middle of a native step
 * hears nothing: it keeps its slot until the step is over.
 */
const ABORT_PATIENCE = 200

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
  #attempt: RunAttempt
  #patience: Timer | undefined
  /** Whether the caller or the time limit ended the run, whatever fired the cancellation first. */
  #isStopped = false
  readonly #startedAt: number
  readonly #wallStartedAt: number
  #partsSent = false
  #isRepeated = false
  /** What holds on to the run, from its beginning to its end. */
  #ties: readonly (() => void)[] | undefined
  /** Of an attempt that is made again. */
  #lostLease: Lease | undefined

  constructor(surroundings: RunSurroundings, request: RunRequest, info: RunInfo) {
    this.#surroundings = surroundings
    this.#request = request
    this.#info = info
    this.#attempt = new RunAttempt(surroundings, request, info)
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
      this.#attempt.buffer?.leave()
      this.#end(failure.code, undefined, failure)
      throw failure
    }
  }

  take(): Part | undefined {
    const part = this.#attempt.buffer?.take()
    if (part !== undefined) this.#partsSent = true
    return part
  }

  leave(): void {
    this.#attempt.buffer?.leave()
    if (this.#ties !== undefined) this.#end('aborted')
  }

  async #begin(): Promise<void> {
    const { live } = this.#surroundings
    const { model, task, request = null, wish } = this.#request
    const { kind } = task
    const end = live.begin({ info: this.#info, kind, request, startedAt: this.#wallStartedAt })
    this.#ties = [this.#listen(), end]
    const preparing = this.#surroundings.prepare(model, this.#attempt.cancellation, wish)
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
    this.#attempt.cancellation.abort(reason)
    this.#patience ??= this.#surroundings.clock.setTimer(ABORT_PATIENCE, () =>
      this.#attempt.buffer?.abandon(reason),
    )
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
      const buffer = this.#attempt.buffer ?? (await this.#attempt.begin(isWhole))
      await buffer.arrival(isWhole ? Infinity : this.#partsSent ? 1 : 2)
      return resultIn(buffer)
    } catch (thrown) {
      if (!this.#mayRepeat(thrown)) throw this.#isRepeated ? this.#told(thrown) : thrown
    }
    this.#isRepeated = true
    this.#lostLease = this.#attempt.lease
    this.#attempt = new RunAttempt(this.#surroundings, this.#request, this.#info)
    return this.#arrivalOrRepeat(isWhole)
  }

  #mayRepeat(thrown: unknown): boolean {
    const isFirst = !this.#isRepeated && !this.#partsSent
    return isFirst && isWorkerDeath(thrown) && this.#attempt.lease !== undefined && !this.#isStopped
  }

  #told(thrown: unknown): unknown {
    const { crashes } = this.#surroundings
    const { model } = this.#info
    const isPoison = isWorkerDeath(thrown) && crashes.isPoison(model, this.#request.task)
    return isPoison ? poisonError(model, thrown) : thrown
  }

  #account(outcome: string, result: Result | undefined, failure: ModelyardError | undefined): void {
    const { clock, log, bus } = this.#surroundings
    const { pieces, lease = this.#lostLease } = this.#attempt
    const record = runRecord({
      info: this.#info,
      request: this.#request,
      startedAt: this.#wallStartedAt,
      totalMs: clock.now() - this.#startedAt,
      outcome,
      result,
      failure,
      pieces,
      savedTime: (cachedTokens) => lease?.savedTime(cachedTokens) ?? 0,
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
