import { abortable, onAbort } from '../base/abort.ts'
import { ModelyardError } from '../base/errors.ts'
import type { LoadedModel, RunOptions } from '../engines/engine.ts'
import type { Fingerprint } from '../tasks/fingerprint.ts'
import type { PartStream } from '../tasks/part.ts'
import type { Task } from '../tasks/task.ts'
import type { Lease, LeaseOutcome } from './lease.ts'
import { savedTime } from './policy/context-worth.ts'
import type { CommandOf, ConfirmedUsage } from './policy/messages.ts'

/** What came of all that was to be done before a run. */
export interface Prepared {
  /** Whether the slot holds what the lease keeps. */
  holds: boolean
  /** Milliseconds it took to read a parked context; 0 = none was. */
  readIn: number
}

/** Writes and reads what comes before the run. */
export type Preparation = () => Promise<Prepared>

/** How a lease ended, as its owner said. */
export interface LeaseEnd {
  /** What the slot holds now; absent = unknown. */
  chain: Fingerprint | undefined
  /** No run was started on it. */
  untouched: boolean
  /** What was to be written before the run was never begun. */
  unprepared: boolean
  usage: ConfirmedUsage | undefined
  keep: boolean
}

/** Who is told what becomes of a lease. */
export interface LeaseSurroundings {
  readonly onPrompt: (lease: PoolLease, promptTokens: number) => void
  readonly onRelease: (lease: PoolLease, end: LeaseEnd) => void
}

/** The lease as handed out. Cheap to make: what most leases never need is made on demand. */
export class PoolLease implements Lease {
  readonly id: string
  readonly model: string
  readonly instance: string
  readonly slot: number
  readonly keptPrefix: number
  readonly waited: { queue: number; load: number }
  readonly reason: string
  readonly loaded: LoadedModel
  readonly #chain: Fingerprint
  readonly #pace: number | undefined
  readonly #prepare: Preparation | undefined
  readonly #around: LeaseSurroundings
  #controller: AbortController | undefined
  #runs: { controller: AbortController; unlisten: () => void }[] = []
  #cause: ModelyardError | undefined
  #isReleased = false
  #isUntouched = true
  #isPrepared = false
  #readIn = 0

  constructor(
    granted: CommandOf<'grant-lease'>,
    loaded: LoadedModel,
    chain: Fingerprint,
    prepare: Preparation | undefined,
    around: LeaseSurroundings,
  ) {
    this.id = granted.lease
    this.model = granted.model
    this.instance = granted.instance
    this.slot = granted.slot
    this.keptPrefix = granted.keptPrefix
    this.waited = { queue: granted.queueMs, load: granted.loadMs }
    this.reason = granted.reason
    this.loaded = loaded
    this.#chain = chain
    this.#pace = granted.pace
    this.#prepare = prepare
    this.#around = around
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#cause !== undefined) this.#controller.abort(this.#cause)
    }
    return this.#controller.signal
  }

  run(task: Task, options: { signal?: AbortSignal } | { controller: AbortController } = {}): PartStream {
    if (this.#isReleased) throw new ModelyardError('internal', `The lease ${this.id} was given back already.`)
    const isFirst = this.#isUntouched
    const keptPrefix = isFirst ? this.keptPrefix : this.#chain.length
    this.#isUntouched = false
    const asking = this.loaded.plan.uses === undefined ? {} : { within: { instance: this.instance } }
    const run = { slot: this.slot, keptPrefix, signal: this.#runSignal(options), ...asking }
    if (this.#prepare === undefined || !isFirst) return this.loaded.run(task, run)
    return this.#runPrepared(this.#prepare, task, run)
  }

  /** R16: what is to be written and read comes first. Whoever gives up meanwhile does not wait for it; the engine does. */
  async *#runPrepared(prepare: Preparation, task: Task, run: RunOptions): PartStream {
    run.signal.throwIfAborted()
    this.#isPrepared = true
    const { holds, readIn } = await abortable(prepare(), run.signal)
    this.#readIn = readIn
    return yield* this.loaded.run(task, holds ? run : { ...run, keptPrefix: 0 })
  }

  /** One controller instead of `AbortSignal.any`: that one costs ten times as much and lives until it is collected. */
  #runSignal(options: { signal?: AbortSignal } | { controller: AbortController }): AbortSignal {
    if ('controller' in options) return this.#joined(options.controller, () => undefined)
    const outer = options.signal
    if (outer === undefined) return this.signal
    const controller = new AbortController()
    return this.#joined(
      controller,
      onAbort(outer, () => controller.abort(outer.reason)),
    )
  }

  #joined(controller: AbortController, unlisten: () => void): AbortSignal {
    this.#runs.push({ controller, unlisten })
    if (this.#cause !== undefined) controller.abort(this.#cause)
    return controller.signal
  }

  reportPrompt(promptTokens: number): void {
    if (!this.#isReleased && this.#chain.length > 0) this.#around.onPrompt(this, promptTokens)
  }

  savedTime(cachedTokens: number): number {
    return savedTime(cachedTokens, this.#pace, this.#readIn)
  }

  release(outcome: LeaseOutcome = {}): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#unlisten()
    const chain = outcome.fingerprint
    this.#around.onRelease(this, {
      chain,
      untouched: this.#isUntouched && chain === undefined,
      unprepared: !this.#isPrepared,
      usage: outcome.usage,
      keep: outcome.keep ?? false,
    })
  }

  /** The pool takes the slot back: the instance died, or an operator or a stop cut the run. */
  cut(cause: ModelyardError): void {
    if (this.#cause !== undefined) return
    this.#cause = cause
    this.#controller?.abort(cause)
    for (const { controller } of this.#runs) controller.abort(cause)
    this.#unlisten()
  }

  #unlisten(): void {
    for (const { unlisten } of this.#runs) unlisten()
    if (this.#cause !== undefined || this.#isReleased) this.#runs = []
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.release()
    await Promise.resolve()
  }
}
