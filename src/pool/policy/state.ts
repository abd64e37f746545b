import type { SerializedError } from '../../base/errors.ts'
import type { LoadPlan, SharedPages } from '../../engines/engine.ts'
import type { HostReading, MeasuredFootprint, MemoryDomain } from '../../host/memory.ts'
import type { Fingerprint } from '../../tasks/fingerprint.ts'
import type { PoolLimits, Priority } from '../limits.ts'
import type { PoolModel } from '../pool-model.ts'
import { Table } from './table.ts'
import type { Wait } from './wait.ts'

/** Bytes per domain; domains that are absent hold none. */
export type Charges = Partial<Record<MemoryDomain, number>>

export interface Charge {
  readonly domain: MemoryDomain
  readonly bytes: number
}

/** Whatever charges memory: an instance, or a load that is asked for. */
export interface Holder {
  readonly model: string
  /** Private bytes booked, per domain: the larger of promise and measurement (M12). */
  readonly charges: readonly Charge[]
  /** Mapped weights and the program's pages, booked once per key for all who share them. */
  readonly shared: readonly SharedPages[]
  /** All bytes it would hold if it were alone. */
  readonly total: number
}

/** A lease as the policy sees it. */
export interface HeldLease {
  readonly id: string
  readonly ticket: string
  readonly grantedAt: number
  readonly keepAlive: number | undefined
  /** What its run computes. */
  readonly chain: Fingerprint
  /** Tokens of its prompt, once they are in the slot: from then on others can copy their beginning. */
  readonly promptTokens: number | undefined
  /** The instance whose run asked for it; such a lease is part of that run and takes no place of its own (P14). */
  readonly within: string | undefined
  /** What the slot held before: still true if the lease ends without a run. */
  readonly before: Fingerprint
  readonly beforeTokens: number
  /** Tokens that the engine has to confirm when a parked context was read for this lease; 0 = none was. */
  readonly expected: number
  /** The parked context that is to be read before its run, until it is. */
  readonly reading: string | undefined
  /** Milliseconds that reading it took; 0 before that. */
  readonly readIn: number
  /** Contexts that are to be written before its run. */
  readonly parking: readonly string[]
}

/** A context on disk, or on its way there (R16). */
export interface ParkedContext {
  /** `context-number`; numbers are never used twice in one folder. */
  readonly id: string
  readonly model: string
  /** The engine's `stateIdentity`: what must be the same for it to be read back. */
  readonly identity: string
  readonly chain: Fingerprint
  readonly tokens: number
  /** On disk; while it is being written, the most it can become. */
  readonly bytes: number
  /** Milliseconds that its tokens would take to compute again. */
  readonly worth: number
  readonly usedAt: number
  /** When it was ordered to be written. */
  readonly orderedAt: number
  /** A beginning that is wanted for its own sake: it stays beside longer ones. */
  readonly isKept: boolean
  /** The instance that writes it; undefined = it can be read. */
  readonly writer: string | undefined
  /** It would be found again after a kill of the server. */
  readonly isSettled: boolean
}

/** What is known of a model's contexts and what they were good for. */
export interface ModelContexts {
  /** Milliseconds per prompt token, as measured lately. */
  readonly prefillPerToken: number | undefined
  /** The same of prompts of which most was there already: behind a long context a token takes longer, for it looks back on all of it. */
  readonly tailPerToken: number | undefined
  /** Most bytes that a parked token took. */
  readonly bytesPerToken: number | undefined
  /** Bytes per millisecond in which slots were written and read of late. */
  readonly writeSpeed: number | undefined
  readonly readSpeed: number | undefined
  /** Restores in a row of which the engine confirmed nothing. */
  readonly strikes: number
  /** Why it is no longer parked (R19). */
  readonly unfit: string | undefined
  /** Restores that the engine confirmed, and files that went. */
  readonly restored: number
  readonly dropped: number
  /** Tokens that were not computed again, and the milliseconds they would have taken. */
  readonly savedTokens: number
  readonly savedMs: number
}

/** A place for one context. */
export interface Slot {
  /** What is cached in it, as far as known. Empty while leased: a run makes it stale from its first token on (F11). */
  readonly chain: Fingerprint
  /** Tokens in it as the engine counted them; 0 where that is not known. */
  readonly tokens: number
  readonly usedAt: number
  readonly lease: HeldLease | undefined
}

export type InstanceState = 'loading' | 'warming' | 'ready' | 'draining' | 'unloading'

/** Why an instance is on its way out. */
export type LeavingCause =
  | 'cancelled' // nobody waits for the load any more
  | 'evicted' // another model needs the memory
  | 'exited' // the worker died
  | 'failed' // load or warm-up did not succeed
  | 'idle' // keepAlive is over
  | 'operator'
  | 'replaced' // its model was declared with another plan
  | 'stop'
  | 'withdrawn'

export interface Leaving {
  readonly cause: LeavingCause
  readonly since: number
  /** Its unload took too long: it still charges its bytes, but nobody waits for it any more (R8). */
  readonly isStuck: boolean
}

export interface Coming {
  /** 0…1 where the engine reports it. */
  readonly progress: number | undefined
  /** When the model was in memory; then it waits for threads and warms up. */
  readonly loadedAt: number | undefined
  readonly isWarmingUp: boolean
}

/** How often something was asked for: a count that has aged until `at`. */
export interface Asked {
  readonly count: number
  readonly at: number
}

/** One loaded copy of a model. Failed ones are removed, not kept. */
export interface Instance extends Holder {
  /** `model#number`; numbers are never used twice (F18). */
  readonly id: string
  readonly plan: LoadPlan
  /** What a parked context must be of to be read by it; undefined = it cannot park, or is not loaded yet. */
  readonly stateIdentity: string | undefined
  /** Its slots can be written while they answer. */
  readonly savesWhileAnswering: boolean
  /** Private bytes promised per domain: the estimate, corrected by what was measured before (R4). */
  readonly promise: Charges
  readonly measured: MeasuredFootprint | undefined
  readonly state: InstanceState
  readonly slots: readonly Slot[]
  /** Slots that are leased. Busy is `leases > 0`. */
  readonly leases: number
  /** Of all loads of this yard, in the order in which they began. */
  readonly number: number
  /** When the load began. */
  readonly startedAt: number
  readonly readyAt: number | undefined
  /** Last grant or release; when it became ready before that (F13). */
  readonly usedAt: number
  /** How often it was granted, and copies before it (R7). */
  readonly asked: Asked
  /** Whether a lease was ever granted. */
  readonly served: boolean
  /** Milliseconds idle until unload, as the last request that said so wants it; −1 = never. */
  readonly keepAlive: number
  /** Loaded by an operator up to the absolute limit. */
  readonly forced: boolean
  /** How far its load has come; undefined once it is ready. */
  readonly coming: Coming | undefined
  /** By state: when the load is given up, the leases are cut, the missing exit is reported. */
  readonly deadline: number | undefined
  /** Draining and unloading: why, and since when. */
  readonly leaving: Leaving | undefined
  /** Mean milliseconds that leases were held, for `Retry-After`. */
  readonly meanHeld: number
}

/** What waits in the queue. */
export interface Ticket extends TicketWish {
  readonly arrivedAt: number
  /** Number in order of arrival. */
  readonly number: number
  /** When it is refused with `timeout`. */
  readonly deadline: number | undefined
}

/** What a ticket asks for, from its arrival to its end. */
export interface TicketWish {
  /** Unique, given by the shell. */
  readonly id: string
  readonly model: string
  /** A slot, or only a ready instance (an operator's load). */
  readonly wants: 'lease' | 'instance'
  readonly chain: Fingerprint
  readonly priority: Priority
  readonly keepAlive: number | undefined
  /** Takes what is free now or nothing; never starts a load. */
  readonly immediate: boolean
  /** May be loaded up to the absolute limit. */
  readonly force: boolean
  /** The instance whose run asks for it (P14). */
  readonly within: string | undefined
}

/** Tickets of one model in order of arrival; never empty. */
export interface Queue {
  readonly model: string
  readonly tickets: readonly Ticket[]
}

export interface ModelState {
  readonly model: PoolModel
  /** Most ever measured for this plan (R4). */
  readonly learned: MeasuredFootprint | undefined
  /** What a copy would be promised, and what it would be charged. */
  readonly promise: Charges
  readonly needs: Holder
  /** Failures in a row, for the backoff (R11). */
  readonly failures: number
  /** {@link Instance.number} of the youngest load of all when the last of them happened: only a younger copy proves that the model works again. */
  readonly failedAfter: number
  /** No load before this. */
  readonly retryAt: number
  readonly lastError: SerializedError | undefined
  readonly loads: number
  readonly evictions: number
  /** Mean milliseconds from a load's start until it was ready, of those of this plan (R7). */
  readonly loadTime: number | undefined
  /** How often its copies were granted, as of when the last one went (R7). */
  readonly asked: Asked
  readonly contexts: ModelContexts
  /** Since when the host lacks memory for it while nothing else is on the move (R5). */
  readonly shortSince: number | undefined
  /** `minInstances` is not tried before this: there was no room for it. */
  readonly restoreAt: number
  /** Unloaded by an operator: `minInstances` is not restored before somebody asks for the model again. */
  readonly suspended: boolean
}

export interface WrittenMinute {
  readonly minute: number
  readonly bytes: number
}

/** All that the policy knows. Plain data; never changed in place. */
export interface PoolState {
  readonly limits: PoolLimits
  readonly models: Table<ModelState>
  /** Models with `minInstances` > 0, so that nothing has to be searched after each event. */
  readonly minimums: readonly string[]
  readonly instances: readonly Instance[]
  readonly queues: readonly Queue[]
  /** What the first ticket of each waiting model waits for, as of the last walk (R19). */
  readonly waits: ReadonlyMap<string, Wait>
  readonly tickets: number
  readonly leases: number
  readonly runs: number
  readonly loads: number
  /** When the earliest ticket times out; may be earlier than that, never later. */
  readonly ticketDeadline: number
  readonly alarm: number
  /** The last look at those who wait has left all as it was, and so would another before the alarm rings or something else happens. */
  readonly isSettled: boolean
  /** Some domain holds more than its limit, by measurement or new limits. */
  readonly overBudget: boolean
  readonly host: { readonly reading: HostReading; readonly at: number } | undefined
  /** R16: parked contexts, the bytes the disk has room for, and the number of the last one. */
  readonly contexts: {
    readonly parked: readonly ParkedContext[]
    readonly room: number
    readonly number: number
    /** Bytes that were written after answers in the last hour, by the minute. */
    readonly written: readonly WrittenMinute[]
  }
  /** Leases are cut at `cutAt`. */
  readonly stopping: { readonly cutAt: number } | undefined
}

export const NO_ALARM: number = Number.POSITIVE_INFINITY

/** A pool that knows no model yet. */
export function emptyState(limits: PoolLimits): PoolState {
  return {
    limits,
    models: new Table(),
    minimums: [],
    instances: [],
    queues: [],
    waits: new Map(),
    tickets: 0,
    leases: 0,
    runs: 0,
    loads: 0,
    ticketDeadline: NO_ALARM,
    alarm: NO_ALARM,
    isSettled: false,
    overBudget: false,
    host: undefined,
    contexts: { parked: [], room: Number.POSITIVE_INFINITY, number: 0, written: [] },
    stopping: undefined,
  }
}
