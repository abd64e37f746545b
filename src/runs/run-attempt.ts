import { Cancellation } from '../base/cancellation.ts'
import type { AcquireRequest, Lease } from '../pool/lease.ts'
import { fingerprintOf, type Fingerprint } from '../tasks/fingerprint.ts'
import type { Part } from '../tasks/part.ts'
import { AnswerCollector } from './answer-collector.ts'
import { PartBuffer, type SourceOutcome } from './part-buffer.ts'
import type { RunSurroundings } from './run-surroundings.ts'
import type { RunInfo, RunRequest } from './run.ts'
import { slotContent } from './slot-content.ts'

/** One attempt at a run's task: a lease, and what the engine says on it. A run makes a second when the worker dies under the first (R11). */
export class RunAttempt {
  /** A lease whose worker died fires it, as the run's end does: each attempt has one of its own. */
  readonly cancellation: Cancellation = new Cancellation()
  readonly #surroundings: RunSurroundings
  readonly #request: RunRequest
  readonly #info: RunInfo
  readonly #answer = new AnswerCollector()
  #lease: Lease | undefined
  #buffer: PartBuffer | undefined

  constructor(surroundings: RunSurroundings, request: RunRequest, info: RunInfo) {
    this.#surroundings = surroundings
    this.#request = request
    this.#info = info
  }

  /** Once a worker has it, so that the worker's death is this run's affair. */
  get lease(): Lease | undefined {
    return this.#lease
  }

  /** What the engine says, once it works. */
  get buffer(): PartBuffer | undefined {
    return this.#buffer
  }

  /** Parts of the answer until now. */
  get pieces(): number {
    return this.#answer.pieces
  }

  /** Waits for a slot and sets the engine to work on it. @throws what the pool refuses with */
  async begin(isWhole: boolean): Promise<PartBuffer> {
    const fingerprint = this.#request.cache === 'none' ? [] : fingerprintOf(this.#request.task)
    const lease = await this.#surroundings.acquire(this.#acquireRequest(fingerprint))
    this.#lease = lease
    this.#noteLease(lease)
    this.#surroundings.crashes.runStarted(lease.instance)
    const run = lease.run(this.#request.task, { cancellation: this.cancellation, isWhole })
    this.#buffer = new PartBuffer(run, {
      capacity: this.#surroundings.slowReader.capacity,
      whenFull: this.#surroundings.slowReader.rule,
      onPart: (part) => this.#notePart(part, lease),
      onSourceEnded: (outcome) => this.#giveBack(lease, fingerprint, outcome),
      cancelSource: (reason) => this.cancellation.abort(reason),
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
      signal: this.cancellation,
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
}
