import type { SerializedError } from '../../base/errors.ts'
import type { LoadFailureClass, LoadPlan } from '../../engines/engine.ts'
import type { YardEvents } from '../../events/event-map.ts'
import type { HostReading, MeasuredFootprint } from '../../host/memory.ts'
import type { Fingerprint } from '../../tasks/fingerprint.ts'
import type { PoolLimits } from '../limits.ts'
import type { PoolModel } from '../pool-model.ts'
import type { Asked, ParkedContext, TicketWish } from './state.ts'

/** What a new ticket asks for. */
export interface TicketRequest extends TicketWish {
  /** Most milliseconds to wait. */
  readonly timeout: number | undefined
}

/** Which slot is to be written under which name, and what is in it. */
export interface ParkOrder {
  readonly context: string
  readonly model: string
  readonly slot: number
  readonly identity: string
  readonly chain: Fingerprint
  readonly tokens: number
  readonly worth: number
  /** The lease whose run is answering in that slot. */
  readonly lease?: string
  /** It stays beside longer ones that begin with it (P7). */
  readonly isKept?: true
}

/** What a run has shown, as the engine confirmed it; milliseconds. */
export interface ConfirmedUsage {
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly completionTokens: number
  readonly prefill: number
}

/** What happened, in the past tense. `at` is milliseconds on the monotonic clock and never goes back. */
export type PoolEvent = { readonly at: number } & PoolFact

export type PoolFact =
  | {
      readonly type: 'model-declared'
      readonly model: PoolModel
      readonly learned: MeasuredFootprint | undefined
      /** What earlier servers learned of this plan's loads and of how often the model is asked for (R7). */
      readonly loadTime?: number | undefined
      readonly asked?: Asked | undefined
    }
  | { readonly type: 'model-withdrawn'; readonly model: string }
  | { readonly type: 'ticket-arrived'; readonly ticket: TicketRequest }
  | { readonly type: 'ticket-aborted'; readonly ticket: string; readonly model: string }
  | {
      readonly type: 'lease-released'
      readonly lease: string
      readonly instance: string
      readonly slot: number
      /** What the slot holds now; absent = unknown. */
      readonly chain: Fingerprint | undefined
      /** No run was started: the slot holds what it held before. */
      readonly untouched: boolean
      readonly usage?: ConfirmedUsage
      /** What it holds is wanted for its own sake (P7). */
      readonly keep?: boolean
      /** What was to be written before the run was never begun. */
      readonly unprepared?: boolean
    }
  /** All of the prompt is in the slot; the answer begins. */
  | {
      readonly type: 'prompt-evaluated'
      readonly lease: string
      readonly instance: string
      readonly slot: number
      readonly promptTokens: number
    }
  | { readonly type: 'load-progressed'; readonly instance: string; readonly fraction: number | undefined }
  | {
      readonly type: 'load-finished'
      readonly instance: string
      readonly stateIdentity?: string
      readonly savesWhileAnswering?: boolean
    }
  | {
      readonly type: 'load-failed'
      readonly instance: string
      readonly error: SerializedError
      readonly failure: LoadFailureClass
      readonly logTail: readonly string[]
    }
  | {
      readonly type: 'warm-up-finished'
      readonly instance: string
      readonly measured: MeasuredFootprint | undefined
      /** Milliseconds its first token took (M11). */
      readonly firstToken?: number
    }
  | {
      readonly type: 'warm-up-failed'
      readonly instance: string
      readonly error: SerializedError
      readonly failure: LoadFailureClass
      readonly logTail: readonly string[]
    }
  | { readonly type: 'instance-measured'; readonly instance: string; readonly measured: MeasuredFootprint }
  | {
      readonly type: 'instance-exited'
      readonly instance: string
      readonly reason: string
      readonly logTail: readonly string[]
    }
  /** The process is gone and its bytes are seen back, all but `leaked`. */
  | {
      readonly type: 'memory-returned'
      readonly instance: string
      readonly released: number
      readonly leaked: number
    }
  | {
      readonly type: 'unload-requested'
      readonly model: string | undefined
      readonly instance: string | undefined
      /** Cuts running requests at once instead of after the drain time. */
      readonly force: boolean
    }
  | { readonly type: 'host-measured'; readonly reading: HostReading }
  | { readonly type: 'limits-changed'; readonly limits: PoolLimits }
  /** Contexts that earlier servers parked in the folder, and the bytes its disk has room for. */
  | {
      readonly type: 'contexts-found'
      readonly contexts: readonly Omit<ParkedContext, 'writer' | 'isSettled'>[]
      readonly room: number
    }
  | { readonly type: 'context-room-measured'; readonly room: number }
  /** It can be read from now on. */
  | {
      readonly type: 'park-finished'
      readonly context: string
      readonly bytes: number
      readonly took: number
    }
  | { readonly type: 'park-failed'; readonly context: string; readonly reason: string }
  /** It would be found again after a kill of the server. */
  | { readonly type: 'park-settled'; readonly context: string }
  | {
      readonly type: 'restore-finished'
      readonly context: string
      readonly instance: string
      readonly slot: number
      readonly lease: string
      /** False: the slot is empty, and the file is of no use. */
      readonly isRestored: boolean
      readonly took: number
    }
  /** An operator wants them gone: those named, or all of a model, or all. */
  | {
      readonly type: 'contexts-unwanted'
      readonly contexts: readonly string[] | undefined
      readonly model: string | undefined
    }
  | { readonly type: 'clock-ticked' }
  | { readonly type: 'stop-requested'; readonly deadline: number }

export type FactType = PoolFact['type']

/** An event by its type. */
export type EventOf<Type extends FactType> = Extract<PoolFact, { type: Type }> & { readonly at: number }

/** Announcements of the policy: those facts of the event map that the pool tells. */
export type Announcement = {
  [Name in keyof YardEvents]: { readonly name: Name; readonly data: YardEvents[Name] }
}[keyof YardEvents]

/** What the shell has to do, in this order. Whatever comes of it returns as an event. */
export type PoolCommand =
  | { readonly type: 'start-load'; readonly instance: string; readonly plan: LoadPlan }
  /** Fires the load's signal; `load-failed` or `load-finished` follows. */
  | { readonly type: 'cancel-load'; readonly instance: string }
  | { readonly type: 'start-warm-up'; readonly instance: string }
  /** `park`: written first, in this order, as far as there is time. */
  | { readonly type: 'start-unload'; readonly instance: string; readonly park?: readonly ParkOrder[] }
  /** A free slot is written although nothing is about to be lost. */
  | { readonly type: 'park-slot'; readonly instance: string; readonly order: ParkOrder }
  | { readonly type: 'remove-context'; readonly context: string }
  | {
      readonly type: 'grant-lease'
      readonly ticket: string
      readonly lease: string
      readonly model: string
      readonly instance: string
      readonly slot: number
      readonly keptPrefix: number
      /** Before the run: slots of this instance that are written, then the context that is read into the slot. */
      readonly park?: readonly ParkOrder[]
      readonly restore?: string
      /** Milliseconds per prompt token, as measured lately; absent = not yet. */
      readonly pace?: number
      readonly queueMs: number
      readonly loadMs: number
      readonly reason: string
    }
  /** The instance that an operator's load waited for is ready. */
  | {
      readonly type: 'answer-load'
      readonly ticket: string
      readonly model: string
      readonly instance: string
    }
  | {
      readonly type: 'refuse-ticket'
      readonly ticket: string
      readonly model: string
      readonly error: SerializedError
    }
  /** Ends the run under this lease; the slot is no longer its own. */
  | {
      readonly type: 'cut-lease'
      readonly lease: string
      readonly instance: string
      readonly error: SerializedError
    }
  /** `host-measured` follows at once, with an empty reading when nothing can be read. */
  | { readonly type: 'measure-host' }
  | { readonly type: 'set-alarm'; readonly at: number }
  | ({ readonly type: 'announce' } & Announcement)

export type CommandOf<Type extends PoolCommand['type']> = Extract<PoolCommand, { type: Type }>
