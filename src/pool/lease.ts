import type { Cancellation, StopSignal } from '../base/cancellation.ts'
import type { AskingRun, LoadedModel, RunOptions } from '../engines/engine.ts'
import type { Fingerprint } from '../tasks/fingerprint.ts'
import type { PartStream } from '../tasks/part.ts'
import type { Task } from '../tasks/task.ts'
import type { ConfirmedUsage } from './policy/messages.ts'
import type { Priority } from './limits.ts'

export interface AcquireRequest {
  /** Id of a declared model. */
  model: string
  /** Chain of the request's beginning; absent or empty = nothing to reuse. */
  fingerprint?: Fingerprint
  /** Default `normal`. */
  priority?: Priority
  /** Aborting at any moment leaves nothing behind: no ticket, no slot, no load nobody waits for. */
  signal?: StopSignal
  /** Most milliseconds to wait for the lease; then `timeout`. Absent = no limit. */
  timeout?: number
  /** The lease of the run that asks: a custom engine that uses other models. It goes before all others and takes no place of its own (P14). */
  within?: AskingRun
  /** Told the ticket at once: under it the pool's `waitOf` says what is waited for. */
  onTicket?: (ticket: string) => void
  /** Overrides the model's keepAlive from this lease's release on, in milliseconds. */
  keepAlive?: number
}

/** What a lease leaves behind. */
export interface LeaseOutcome {
  fingerprint?: Fingerprint
  usage?: ConfirmedUsage
  /** It is wanted for its own sake: parked at once, and never dropped for longer ones that begin with it (P7). */
  keep?: boolean
}

/** How a run on a lease is ended, and read. */
export type LeasedRun = ({ signal?: StopSignal } | { cancellation: Cancellation }) &
  Pick<RunOptions, 'isWhole'>

/** The right to use one slot of one instance until released. Disposable; releasing twice is harmless (F9). */
export interface Lease extends AsyncDisposable {
  readonly id: string
  readonly model: string
  /** For example `smollm2#3`. */
  readonly instance: string
  readonly slot: number
  readonly keptPrefix: number
  /** Milliseconds spent in the queue, of them `load` waiting for a load. */
  readonly waited: { queue: number; load: number }
  /** Why this slot, in a sentence with numbers (R19). */
  readonly reason: string
  readonly loaded: LoadedModel
  /** Fires with a ModelyardError when the instance dies (`worker_exited`) or the run is cut (`run_cut`, `shutting_down`). */
  readonly signal: AbortSignal
  /**
   * Runs a task on this slot, ended by the lease's own signal and the given one. A caller that has a cancellation anyway hands that in instead: it
   * ends the run, and it is fired when the lease is cut.
   */
  run(task: Task, options?: LeasedRun): PartStream
  /** Tells that the prompt is in the slot and the answer begins, so that others that begin alike can copy it. Without it they wait for the end. */
  reportPrompt(promptTokens: number): void
  /** Milliseconds that so many tokens would have taken if the run had had to compute them, less those in which they were read from disk; 0 where no pace was measured yet. */
  savedTime(cachedTokens: number): number
  /** Gives the slot back. `fingerprint` is the chain of what it holds now; absent = unknown, the next user starts clean (F11). `usage`: what the run took, without which the context is worth nothing on disk. */
  release(outcome?: LeaseOutcome): void
}
