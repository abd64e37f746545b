import type { FootprintTerms, MemoryDomain } from '../host/memory.ts'
import { modelContexts, summarizeContexts } from './context-listing.ts'
import { domainsOf, ledger, privateCharge } from './policy/budget.ts'
import { compareTickets } from './policy/fairness.ts'
import { expiresAt } from './policy/expiry.ts'
import { RULES } from './policy/rules.ts'
import type { Instance, ModelState, PoolState, Ticket } from './policy/state.ts'
import { newStep } from './policy/step.ts'
import { activeThreads } from './policy/threads.ts'
import { waitSentence } from './policy/wait.ts'
import type {
  DomainStatus,
  InstanceStatus,
  ModelPoolStatus,
  PoolStatus,
  TicketStatus,
} from './pool-status.ts'

/** Which process holds an instance; what the shell knows beside the policy's state. */
export type PidOf = (instance: string) => number | undefined

/** The state as others see it: numbers and names, never a word of a user's text (F10, P11). */
export function statusOf(state: PoolState, at: number, pidOf: PidOf): PoolStatus {
  return {
    instances: state.instances.map((instance) => instanceStatus(state, instance, at, pidOf)),
    queue: queueStatus(state, at),
    models: Object.fromEntries([...state.models].map(([id, model]) => [id, modelStatus(state, model, at)])),
    memory: memoryStatus(state),
    threads: { limit: state.limits.threads, active: activeThreads(state) },
    contexts: summarizeContexts(state),
    runs: { active: state.runs, limit: state.limits.concurrency },
  }
}

function instanceStatus(state: PoolState, instance: Instance, at: number, pidOf: PidOf): InstanceStatus {
  const pid = pidOf(instance.id)
  const { measured } = instance
  const progress = instance.coming?.progress
  return {
    id: instance.id,
    model: instance.model,
    state: instance.state,
    ...(progress === undefined ? {} : { progress }),
    ...(pid === undefined ? {} : { pid }),
    contextSize: instance.plan.contextSize,
    threads: instance.plan.threads,
    slots: instance.slots.map((slot, index) => ({
      index,
      leased: slot.lease !== undefined,
      cached: slot.chain.at(-1)?.end ?? 0,
    })),
    leases: instance.leases,
    booked: ledger([instance]),
    estimated: estimateOf(instance),
    ...(measured === undefined ? {} : { measured: measuredOf(measured) }),
    idleFor: at - instance.usedAt,
    expiresIn: expiresIn(state, instance, at),
  }
}

function estimateOf(instance: Instance): Partial<Record<MemoryDomain, FootprintTerms>> {
  return instance.plan.footprint
}

function measuredOf(measured: NonNullable<Instance['measured']>): Partial<Record<MemoryDomain, number>> {
  const sums: Partial<Record<MemoryDomain, number>> = {}
  for (const domain of domainsOf(measured)) {
    const seen = measured[domain]
    if (seen !== undefined) sums[domain] = seen.private + seen.shared
  }
  return sums
}

/** Null: never by itself, as things are. */
function expiresIn(state: PoolState, instance: Instance, at: number): number | null {
  const model = state.models.get(instance.model)
  if (model === undefined) return null
  const expiry = expiresAt(instance, model, state.limits)
  return Number.isFinite(expiry) ? Math.max(0, expiry - at) : null
}

/** All who wait, in the order in which they are looked at. */
/** Who waits, in the order in which they are served. */
export function queueStatus(state: PoolState, at: number): TicketStatus[] {
  const step = newStep(state, at, RULES)
  const tickets = state.queues.flatMap((queue) => queue.tickets)
  const seen = new Map<string, number>()
  return tickets
    .sort((a, b) => compareTickets(step, a, b))
    .map((ticket) => {
      const position = seen.get(ticket.model) ?? 0
      seen.set(ticket.model, position + 1)
      return ticketStatus(state, ticket, position, at)
    })
}

function ticketStatus(state: PoolState, ticket: Ticket, position: number, at: number): TicketStatus {
  const wait = state.waits.get(ticket.model)
  const reason = wait === undefined ? 'others are served first' : waitSentence(wait, at)
  const { id, model, priority } = ticket
  const ahead = position === 0 ? '' : `${position} older requests wait for the same model; `
  return { id, model, priority, waitingFor: at - ticket.arrivedAt, position, reason: ahead + reason }
}

function modelStatus(state: PoolState, model: ModelState, at: number): ModelPoolStatus {
  const { lastError, loads, evictions } = model
  const contexts = modelContexts(state, model.model.id)
  const status = { state: stateOf(state, model, at), pinned: model.model.pinned, loads, evictions, contexts }
  if (lastError === undefined) return status
  const retryIn = Math.max(0, model.retryAt - at)
  return { ...status, lastError: { code: lastError.code, message: lastError.message, retryIn } }
}

const BEST_FIRST = ['ready', 'warming', 'loading', 'draining', 'unloading'] as const

/** M1: the state seen from outside; the most useful of its copies speaks for the model. */
function stateOf(state: PoolState, model: ModelState, at: number): ModelPoolStatus['state'] {
  const { id } = model.model
  const copies = state.instances.filter((instance) => instance.model === id)
  const best = BEST_FIRST.find((stage) => copies.some((copy) => copy.state === stage))
  const isQueued = state.queues.some((queue) => queue.model === id)
  if (best === 'ready' || best === 'warming' || best === 'loading') return best
  if (isQueued)
    return state.waits.get(id)?.kind === 'evicting' || isSwapping(state, id) ? 'evicting' : 'queued'
  if (best !== undefined) return best
  return model.lastError !== undefined && model.retryAt > at ? 'failed' : 'unloaded'
}

/** Its load waits for bytes of evicted instances. */
function isSwapping(state: PoolState, id: string): boolean {
  return (
    state.waits.get(id)?.kind === 'leaving' &&
    state.instances.some((instance) => instance.leaving?.cause === 'evicted')
  )
}

function memoryStatus(state: PoolState): PoolStatus['memory'] {
  const booked = ledger(state.instances)
  const memory: PoolStatus['memory'] = {}
  for (const domain of new Set([...domainsOf(state.limits.memory), ...domainsOf(booked)])) {
    memory[domain] = domainStatus(state, domain, booked[domain] ?? 0)
  }
  return memory
}

function domainStatus(state: PoolState, domain: MemoryDomain, booked: number): DomainStatus {
  const limit = state.limits.memory[domain] ?? { budget: 0, absolute: 0 }
  const parts = { loading: 0, resident: 0, releasing: 0 }
  const seen = new Map<string, number>()
  for (const instance of state.instances) {
    parts[partOf(instance)] += privateCharge(instance, domain) + sharedOnce(instance, domain, seen)
  }
  const host = state.host?.reading[domain]
  return { ...limit, booked, ...parts, ...(host === undefined ? {} : { host }) }
}

/** Shared pages belong to the first of those who share them, what one of the others saw more of them to that one. */
function sharedOnce(instance: Instance, domain: MemoryDomain, seen: Map<string, number>): number {
  let sum = 0
  for (const { key, domain: lies, bytes } of instance.shared) {
    const more = bytes - (seen.get(key) ?? 0)
    if (lies !== domain || more <= 0) continue
    seen.set(key, bytes)
    sum += more
  }
  return sum
}

function partOf(instance: Instance): 'loading' | 'resident' | 'releasing' {
  if (instance.state === 'loading' || instance.state === 'warming') return 'loading'
  return instance.state === 'unloading' ? 'releasing' : 'resident'
}
