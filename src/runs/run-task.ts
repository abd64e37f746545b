import { abortError, onAbort } from '../base/abort.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { formatDuration } from '../base/durations.ts'
import { ModelyardError, toModelyardError } from '../base/errors.ts'
import { createId } from '../base/ids.ts'
import type { EventBus } from '../events/event-bus.ts'
import { requireFormat } from '../grammar/require-format.ts'
import type { AcquireRequest, Lease } from '../pool/lease.ts'
import {
  fingerprintOf,
  fingerprintWithAnswer,
  sharedBeginning,
  type Fingerprint,
} from '../tasks/fingerprint.ts'
import type { Part, PartStream, Result } from '../tasks/part.ts'
import type { CrashRecord } from './crash-record.ts'
import type { LiveRuns } from './live-runs.ts'
import { PartBuffer, type SlowReaderRule, type SourceOutcome } from './part-buffer.ts'
import type { PreparedModel } from './prepared-model.ts'
import type { RunLog } from './run-log.ts'
import type { Run, RunInfo, RunRequest } from './run.ts'
import { AnswerCollector } from './answer-collector.ts'
import { unsupportedFeature } from './unsupported-feature.ts'

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
  prepare(model: string, signal: AbortSignal): PreparedModel | Promise<PreparedModel>
  acquire(request: AcquireRequest): Promise<Lease>
  slowReader: { capacity: number; rule: SlowReaderRule }
}

/** Starts a run: resolve → lease → engine → stream → account. What is wrong comes out of `parts`. */
export function startRun(surroundings: RunSurroundings, request: RunRequest): Run {
  const info: RunInfo = {
    id: createId('run_'),
    model: request.model,
    queueMs: 0,
    loadMs: 0,
    promptTokens: 0,
    cachedTokens: 0,
  }
  return { info, parts: new RunningTask(surroundings, request, info).parts() }
}

type SlotContent = NonNullable<Parameters<Lease['release']>[0]>

/** One execution of a task, from the resolved name to the row in the log. */
class RunningTask {
  readonly #surroundings: RunSurroundings
  readonly #request: RunRequest
  readonly #info: RunInfo
  /** Of the attempt under way. A lease whose worker died fires it too, so that the second attempt has one of its own (R11). */
  #controller = new AbortController()
  /** What the engine says in that attempt. */
  #buffer: PartBuffer | undefined
  #patience: Timer | undefined
  /** Whether the caller or the time limit ended the run, whatever fired the controller first. */
  #isStopped = false
  readonly #startedAt: number
  readonly #wallStartedAt: number
  #answer = new AnswerCollector()
  #partsSent = false
  /** Whether a worker had it, so that the worker's death is this run's affair. */
  #wasLeased = false

  constructor(surroundings: RunSurroundings, request: RunRequest, info: RunInfo) {
    this.#surroundings = surroundings
    this.#request = request
    this.#info = info
    this.#startedAt = surroundings.clock.now()
    this.#wallStartedAt = surroundings.clock.wallTime()
  }

  async *parts(): PartStream {
    const release = this.#listen()
    const end = this.#surroundings.live.begin({
      info: this.#info,
      kind: this.#request.task.kind,
      request: this.#request.request ?? null,
      startedAt: this.#wallStartedAt,
    })
    let outcome = 'aborted'
    let result: Result | undefined
    let failure: ModelyardError | undefined
    try {
      const prepared = await this.#surroundings.prepare(this.#request.model, this.#controller.signal)
      this.#info.model = prepared.id
      this.#refuseWhatCannotBe(prepared)
      result = yield* this.#withOneRepeat()
      outcome = result.finishReason
      return result
    } catch (thrown) {
      failure = toModelyardError(thrown)
      outcome = failure.code
      throw failure
    } finally {
      release()
      this.#patience?.cancel()
      end()
      this.#account(outcome, result, failure)
    }
  }

  /** The caller's signal and the run's own time limit end everything below through one controller. */
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
    this.#controller.abort(reason)
    this.#patience ??= this.#surroundings.clock.setTimer(ABORT_PATIENCE, () => this.#buffer?.abandon(reason))
  }

  #refuseWhatCannotBe(prepared: PreparedModel): void {
    const { task } = this.#request
    const feature = unsupportedFeature(task, prepared.capabilities)
    if (feature !== undefined) {
      const what = feature === 'task' ? `${task.kind} tasks` : feature.replace('-', ' ')
      const message = `The model "${prepared.id}" does not support ${what} here.`
      throw new ModelyardError('unsupported', message, { details: { feature, model: prepared.id } })
    }
    if (task.kind === 'chat') requireFormat(task)
    if (this.#surroundings.crashes.isPoison(prepared.id, task)) throw poisonError(prepared.id)
  }

  /** R11: a worker that dies under a run that has not sent anything is replaced and the run repeated once. */
  async *#withOneRepeat(): PartStream {
    try {
      return yield* this.#attempt()
    } catch (thrown) {
      if (!this.#mayRepeat(thrown)) throw thrown
    }
    this.#answer = new AnswerCollector()
    this.#controller = new AbortController()
    try {
      return yield* this.#attempt()
    } catch (thrown) {
      const { crashes } = this.#surroundings
      if (isWorkerDeath(thrown) && crashes.isPoison(this.#info.model, this.#request.task))
        throw poisonError(this.#info.model, thrown)
      throw thrown
    }
  }

  #mayRepeat(thrown: unknown): boolean {
    return isWorkerDeath(thrown) && this.#wasLeased && !this.#partsSent && !this.#isStopped
  }

  /**
   * `started` goes out together with the first part after it: until then the run can still be repeated on another worker without the client
   * seeing two beginnings.
   */
  async *#attempt(): PartStream {
    const buffer = await this.#begin()
    this.#buffer = buffer
    let held: Part | undefined
    try {
      for (;;) {
        const part = buffer.take()
        if (part === undefined && buffer.outcome === undefined) {
          await buffer.arrival()
        } else if (part?.type === 'started') {
          this.#noteStart(part)
          held = part
        } else {
          if (part === undefined && buffer.outcome !== undefined && 'error' in buffer.outcome)
            throw buffer.outcome.error
          this.#partsSent = true
          if (held !== undefined) yield held
          held = undefined
          if (part !== undefined) yield part
          else if (buffer.outcome !== undefined && 'result' in buffer.outcome) return buffer.outcome.result
        }
      }
    } finally {
      buffer.leave()
    }
  }

  async #begin(): Promise<PartBuffer> {
    const fingerprint = this.#request.cache === 'none' ? [] : fingerprintOf(this.#request.task)
    const lease = await this.#surroundings.acquire(this.#acquireRequest(fingerprint))
    this.#wasLeased = true
    this.#noteLease(lease)
    this.#surroundings.crashes.runStarted(lease.instance)
    return new PartBuffer(lease.run(this.#request.task, { controller: this.#controller }), {
      capacity: this.#surroundings.slowReader.capacity,
      whenFull: this.#surroundings.slowReader.rule,
      onPart: (part) => {
        if (part.type === 'started') lease.reportPrompt(part.promptTokens)
        this.#answer.add(part)
      },
      onSourceEnded: (outcome) => this.#giveBack(lease, fingerprint, outcome),
      cancelSource: (reason) => this.#controller.abort(reason),
    })
  }

  #acquireRequest(fingerprint: Fingerprint): AcquireRequest {
    const { priority, keepAlive, within } = this.#request
    return {
      model: this.#info.model,
      fingerprint,
      signal: this.#controller.signal,
      onTicket: (ticket) => {
        this.#info.ticket = ticket
      },
      ...(priority === undefined ? {} : { priority }),
      ...(within === undefined ? {} : { within }),
      ...(keepAlive === undefined ? {} : { keepAlive }),
    }
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
    lease.release(this.#slotContent(fingerprint, outcome))
  }

  #slotContent(fingerprint: Fingerprint, outcome: SourceOutcome): SlotContent {
    const { task, cache } = this.#request
    if ('error' in outcome || cache === 'none') return {}
    if (task.kind !== 'chat' && task.kind !== 'completion') return {}
    const { usage: counted, timings } = outcome.result
    const usage = { ...counted, prefill: timings.prefill }
    if (this.#request.keep === true) return { fingerprint: sharedBeginning(task), usage, keep: true }
    if (task.kind === 'completion') return { fingerprint, usage }
    return { fingerprint: fingerprintWithAnswer(fingerprint, this.#answer.message()), usage }
  }

  #noteStart(part: Part & { type: 'started' }): void {
    this.#info.promptTokens = part.promptTokens
    this.#info.cachedTokens = part.cachedTokens
  }

  #account(outcome: string, result: Result | undefined, failure: ModelyardError | undefined): void {
    const { clock, log, bus } = this.#surroundings
    const usage = result?.usage
    const { id, model, queueMs, loadMs } = this.#info
    const promptTokens = usage?.promptTokens ?? this.#info.promptTokens
    const cachedTokens = usage?.cachedTokens ?? this.#info.cachedTokens
    const completionTokens = usage?.completionTokens ?? this.#answer.pieces
    log.append({
      id,
      model,
      instance: this.#info.instance ?? null,
      kind: this.#request.task.kind,
      startedAt: this.#wallStartedAt,
      queueMs,
      loadMs,
      prefillMs: result?.timings.prefill ?? 0,
      decodeMs: result?.timings.decode ?? 0,
      totalMs: clock.now() - this.#startedAt,
      promptTokens,
      cachedTokens,
      completionTokens,
      outcome,
      request: this.#request.request ?? null,
      placement: this.#info.placement ?? null,
      // An engine may quote its input: only the sentences of others are kept.
      error: failure === undefined || mayQuote(failure) ? null : failure.message,
    })
    bus.emit('run-finished', { run: id, model, outcome, promptTokens, completionTokens, cachedTokens })
  }
}

/** F10: what an engine, a client or a bug says may hold a word of a user's text. */
function mayQuote({ code }: ModelyardError): boolean {
  return code === 'engine_failed' || code === 'internal' || code === 'invalid_request'
}

function isWorkerDeath(thrown: unknown): boolean {
  return thrown instanceof ModelyardError && thrown.code === 'worker_exited'
}

function poisonError(model: string, cause?: unknown): ModelyardError {
  const message = `This request ended two workers of "${model}" and is refused for ten minutes; the model itself is fine. Change the request.`
  return new ModelyardError('request_crashes_worker', message, { details: { model }, cause })
}
