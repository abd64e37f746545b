import { abortable, onAbort } from '../base/abort.ts'
import { abortSignalOf, Cancellation, type StopSignal } from '../base/cancellation.ts'
import { ModelyardError } from '../base/errors.ts'
import type { LoadedModel, RunOptions } from '../engines/engine.ts'
import type { Fingerprint } from '../tasks/fingerprint.ts'
import type { PartStream } from '../tasks/part.ts'
import type { Task } from '../tasks/task.ts'
import type { Lease, LeasedRun, LeaseOutcome } from './lease.ts'
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

/** What a run on the lease begins with and ends by. */
type RunWish = Required<Pick<RunOptions, 'keptPrefix' | 'stop' | 'isWhole'>>

/** What a model is told of a run that goes by `stop`. */
class LazyRun implements RunOptions {
  readonly slot: number
  readonly keptPrefix: number
  readonly stop: StopSignal
  readonly isWhole: boolean

  constructor(slot: number, { keptPrefix, stop, isWhole }: RunWish) {
    this.slot = slot
    this.keptPrefix = keptPrefix
    this.stop = stop
    this.isWhole = isWhole
  }

  get signal(): AbortSignal {
    return abortSignalOf(this.stop)
  }
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
  readonly #own = new Cancellation()
  #runs: { cancellation: Cancellation; unlisten: () => void }[] = []
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
    return this.#own.signal
  }

  run(task: Task, options: LeasedRun = {}): PartStream {
    if (this.#isReleased) throw new ModelyardError('internal', `The lease ${this.id} was given back already.`)
    const isFirst = this.#isUntouched
    const keptPrefix = isFirst ? this.keptPrefix : this.#chain.length
    this.#isUntouched = false
    const { isWhole = false } = options
    const wish = { keptPrefix, stop: this.#runSignal(options), isWhole }
    if (this.#prepare === undefined || !isFirst) return this.loaded.run(task, this.#orderOf(wish))
    return this.#runPrepared(this.#prepare, task, wish)
  }

  /** R16: what is to be written and read comes first. Whoever gives up meanwhile does not wait for it; the engine does. */
  async *#runPrepared(prepare: Preparation, task: Task, wish: RunWish): PartStream {
    wish.stop.throwIfAborted()
    this.#isPrepared = true
    const { holds, readIn } = await abortable(prepare(), wish.stop)
    this.#readIn = readIn
    return yield* this.loaded.run(task, this.#orderOf(holds ? wish : { ...wish, keptPrefix: 0 }))
  }

  #orderOf(wish: RunWish): RunOptions {
    const { slot, instance, loaded } = this
    const { keptPrefix, stop, isWhole } = wish
    const run =
      loaded.takesStop === true
        ? new LazyRun(slot, wish)
        : { slot, keptPrefix, signal: abortSignalOf(stop), isWhole }
    return loaded.plan.uses === undefined ? run : Object.assign(run, { within: { instance } })
  }

  /** One that is told of both instead of `AbortSignal.any`: that one costs far more and lives until it is collected. */
  #runSignal(options: { signal?: StopSignal } | { cancellation: Cancellation }): StopSignal {
    if ('cancellation' in options) return this.#joined(options.cancellation, () => undefined)
    const outer = options.signal
    if (outer === undefined) return this.#own
    const cancellation = new Cancellation()
    return this.#joined(
      cancellation,
      onAbort(outer, () => cancellation.abort(outer.reason)),
    )
  }

  #joined(cancellation: Cancellation, unlisten: () => void): StopSignal {
    this.#runs.push({ cancellation, unlisten })
    if (this.#own.aborted) cancellation.abort(this.#own.reason)
    return cancellation
  }

  /** Of use only where a slot can be written while it answers: else whoever begins alike waits for the end anyway. */
  reportPrompt(promptTokens: number): void {
    if (this.#isReleased || this.#chain.length === 0 || this.loaded.savesWhileAnswering !== true) return
    this.#around.onPrompt(this, promptTokens)
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
    if (this.#own.aborted) return
    this.#own.abort(cause)
    for (const { cancellation } of this.#runs) cancellation.abort(cause)
    this.#unlisten()
  }

  #unlisten(): void {
    for (const { unlisten } of this.#runs) unlisten()
    if (this.#own.aborted || this.#isReleased) this.#runs = []
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.release()
    await Promise.resolve()
  }
}
