import type { SerializedError } from '../../base/errors.ts'
import type { Fingerprint } from '../../tasks/fingerprint.ts'
import type { Priority } from '../limits.ts'
import type { CommandOf, ConfirmedUsage, TicketRequest } from '../policy/messages.ts'

/** How a visitor ends the run it was granted. */
export type Manner =
  | 'answers' // the slot holds the request and its answer
  | 'fails' // the slot holds nobody knows what
  | 'leaves' // the lease goes back without a run

export interface VisitRequest {
  model: string
  chain?: Fingerprint
  /** What its slot holds once it is answered. Default one block more. */
  answered?: Fingerprint
  priority?: Priority
  keepAlive?: number
  /** Most milliseconds it waits. */
  timeout?: number
  /** Milliseconds it holds its slot. Default 1,000. */
  hold?: number
  manner?: Manner
  /** Tokens of its prompt, of those how many were not computed within `hold`, and milliseconds of `hold` that the disk took. */
  prompt?: { tokens: number; cached: number; disk?: number }
  /** What the engine confirms of its run, instead of what was to be expected. */
  usage?: ConfirmedUsage
  /** Gives its lease back twice (F9). */
  twice?: boolean
  /** Wants a ready instance only (an operator's load). */
  wants?: 'lease' | 'instance'
  force?: boolean
  immediate?: boolean
  /** The visitor whose run asks for this one (P14). */
  within?: Visitor
  /** Called when it has ended, however. */
  onEnd?: (visitor: Visitor) => void
}

/** A request in the simulated world, and what became of it. */
export interface Visitor {
  readonly ticket: string
  readonly request: VisitRequest
  readonly arrivedAt: number
  outcome: 'waiting' | 'granted' | 'done' | 'refused' | 'aborted' | 'cut'
  granted: CommandOf<'grant-lease'> | undefined
  /** What its engine confirmed. */
  usage: ConfirmedUsage | undefined
  /** What it was promised to find in its slot, where something is read into that before its run. */
  promised: Fingerprint | undefined
  grantedAt: number | undefined
  /** When its prompt is computed and its answer begins, if nothing comes between. */
  promptAt: number | undefined
  endedAt: number | undefined
  refusedWith: SerializedError | undefined
  /** What its run asked for. */
  readonly parts: Visitor[]
}

export function newVisitor(ticket: string, request: VisitRequest, arrivedAt: number): Visitor {
  return {
    ticket,
    request,
    arrivedAt,
    outcome: 'waiting',
    granted: undefined,
    usage: undefined,
    promised: undefined,
    grantedAt: undefined,
    promptAt: undefined,
    endedAt: undefined,
    refusedWith: undefined,
    parts: [],
  }
}

/** What the visitor hands in. */
export function ticketOf(visitor: Visitor): TicketRequest {
  const { model, chain, priority, keepAlive, timeout, wants, force, immediate } = visitor.request
  return {
    id: visitor.ticket,
    model,
    wants: wants ?? 'lease',
    chain: chain ?? [],
    priority: priority ?? 'normal',
    keepAlive,
    timeout,
    immediate: immediate ?? false,
    force: force ?? false,
    within: visitor.request.within?.granted?.instance,
  }
}
