import type { HostReading, MemoryDomain } from '../../host/memory.ts'
import { asksByInstance } from './asks.ts'
import { booksOf, fitsOnTop, isReturning } from './books.ts'
import { isLarge, largeModels, limitOf, sharedBytes } from './budget.ts'
import { costs, evictable, evictableSoon, isSoftlyPinned } from './evict.ts'
import type { Holder, Instance, ModelState, Ticket } from './state.ts'
import type { Demand, Shortage, Step, Turn } from './step.ts'

/** What a load would need: nothing, somebody's going, or more than there is. */
export type Room =
  | { readonly kind: 'free' }
  /** Only a fresh reading of the host's memory can tell (R5). */
  | { readonly kind: 'unmeasured' }
  /** These can go at once, and with them gone the load succeeds (M7). */
  | { readonly kind: 'evict'; readonly victims: readonly Instance[] }
  /** Enough is on its way out. */
  | { readonly kind: 'leaving'; readonly instances: readonly Instance[] }
  /** Others are in the way who cannot go now, or older claims. */
  | { readonly kind: 'occupied' }
  | { readonly kind: 'host-short'; readonly shortage: Shortage }

export function demandFor(model: ModelState, ticket: Ticket | undefined): Demand {
  const { model: id, charges, shared, total } = model.needs
  return { model: id, charges, shared, total, ticket, force: ticket?.force ?? false }
}

const without = (holders: readonly Holder[], gone: readonly Holder[]): Holder[] =>
  holders.filter((holder) => !gone.includes(holder))

function fitsBeside(step: Step, holders: readonly Holder[], demand: Demand): boolean {
  return fitsOnTop(step, step.rules.ledger(holders), holders, demand)
}

/** Those who hold memory when those promised to older tickets have left, too, and their claims are taken (R9). */
function future(step: Step, turn: Turn): readonly Holder[] {
  const { staying } = booksOf(step)
  if (turn.promised.size === 0 && turn.reserved.length === 0) return staying
  return [...staying.filter(({ id }) => !turn.promised.has(id)), ...turn.reserved]
}

/** R4–R7 for one load, in this order: never an eviction before budget and host are known to suffice. */
export function findRoom(step: Step, turn: Turn, demand: Demand, mayAskOthers: boolean): Room {
  const { staying, now, soon } = booksOf(step)
  const later = future(step, turn)
  // It must fit as soon as the victims have left, and still when older claims are taken.
  if (fitsOnTop(step, soon, staying, demand) && (later === staying || fitsBeside(step, later, demand))) {
    if (fitsOnTop(step, now, step.state.instances, demand))
      return roomOnHost(step, turn, demand, mayAskOthers)
    return { kind: 'leaving', instances: step.state.instances.filter(isReturning) }
  }
  const candidates = mayAskOthers ? evictable(step, demand) : []
  const enough = (victims: readonly Instance[]): boolean =>
    fitsBeside(step, without(staying, victims), demand) &&
    (later === staying || fitsBeside(step, without(later, victims), demand))
  if (candidates.length === 0 || !enough(candidates)) return { kind: 'occupied' }
  if (isTooEarly(step, demand, candidates, enough)) return { kind: 'occupied' }
  return evictFor(step, turn, demand, candidates, enough)
}

/** R7: the one to go was loaded a moment ago and may not go yet: that is waited for, rather than that one goes who was used since. */
function isTooEarly(
  step: Step,
  demand: Demand,
  candidates: readonly Instance[],
  enough: (victims: readonly Instance[]) => boolean,
): boolean {
  const all = evictableSoon(step, demand)
  if (all.length === candidates.length) return false
  const best = step.rules.chooseVictims(all, isSoftlyPinned(step.state), enough, costs(step)) ?? []
  return best.some((instance) => !candidates.includes(instance))
}

/** The budget has room now; has the host? Idle instances may go for that, too. */
function roomOnHost(step: Step, turn: Turn, demand: Demand, mayAskOthers: boolean): Room {
  const { host } = step
  if (host === undefined) return { kind: 'unmeasured' }
  const shortage = lacking(step, turn, host, demand, [])
  if (shortage === undefined) return { kind: 'free' }
  const candidates = mayAskOthers ? evictable(step, demand) : []
  if (candidates.length === 0) return { kind: 'host-short', shortage }
  return evictFor(step, turn, demand, candidates, () => true)
}

/** What the host lacks for the demand now that these leave, or will when older claims are taken and those promised to them have left, too (R9). */
function lacking(
  step: Step,
  turn: Turn,
  host: HostReading,
  demand: Demand,
  leaving: readonly Instance[],
): Shortage | undefined {
  const now = step.rules.shortage(step.state, host, demand, leaving)
  if (now !== undefined || turn.reserved.length === 0) return now
  const alsoLeaving = step.state.instances.filter(
    (instance) => !leaving.includes(instance) && (isReturning(instance) || turn.promised.has(instance.id)),
  )
  return step.rules.shortage(step.state, host, demand, [...leaving, ...alsoLeaving], turn.reserved)
}

function evictFor(
  step: Step,
  turn: Turn,
  demand: Demand,
  candidates: readonly Instance[],
  enough: (victims: readonly Instance[]) => boolean,
): Room {
  const { host } = step
  if (host === undefined) return { kind: 'unmeasured' }
  const leaving = step.state.instances.filter(isReturning)
  const lacks = (victims: readonly Instance[]): Shortage | undefined =>
    lacking(step, turn, host, demand, [...leaving, ...victims])
  const willDo = (some: readonly Instance[]): boolean => enough(some) && lacks(some) === undefined
  const victims = step.rules.chooseVictims(candidates, isSoftlyPinned(step.state), willDo, costs(step))
  if (victims !== undefined && victims.length > 0) return { kind: 'evict', victims }
  const shortage = lacks(candidates)
  if (shortage !== undefined) return { kind: 'host-short', shortage }
  return { kind: 'leaving', instances: leaving }
}

/** More than any idle instance costs: who runs is waited for only when those who do not run are not enough. */
const BUSY = 1e15

/** Instances that stand in the way of the demand and could go once they are idle, by the same choice as victims. */
export function inTheWay(step: Step, turn: Turn, demand: Demand): readonly Instance[] {
  const later = future(step, turn)
  const own = costs(step)
  const cost = (instance: Instance): number => own(instance) + (instance.leases > 0 ? BUSY : 0)
  const candidates = step.state.instances
    .filter((instance) => isMovable(step, instance, demand) && !turn.promised.has(instance.id))
    .sort((a, b) => cost(a) - cost(b) || a.usedAt - b.usedAt)
  const enough = (victims: readonly Instance[]): boolean => fitsBeside(step, without(later, victims), demand)
  return step.rules.chooseVictims(candidates, isSoftlyPinned(step.state), enough, cost) ?? []
}

/** Every instance that could make way at all. */
export function movable(step: Step, demand: Demand): Instance[] {
  return step.state.instances.filter((instance) => isMovable(step, instance, demand))
}

function isMovable(step: Step, instance: Instance, demand: Demand): boolean {
  if (instance.model === demand.model || instance.state === 'unloading') return false
  // Whose runs wait for what they asked for gives nothing back before such a ticket is served (P14).
  if (demand.ticket?.within !== undefined && asksByInstance(step.state).has(instance.id)) return false
  return !booksOf(step).protected.includes(instance)
}

/** The domain in which the demand lacks most, and what it needs there. */
export function tightest(step: Step, demand: Demand): { domain: MemoryDomain; needs: number; free: number } {
  const { now } = booksOf(step)
  let worst = { domain: 'ram' as MemoryDomain, needs: 0, free: Number.POSITIVE_INFINITY }
  for (const { domain, bytes } of demand.charges) {
    const needs = bytes + sharedBytes(demand.shared, domain)
    const free = limitOf(step.state.limits, domain, demand.force) - (now[domain] ?? 0)
    if (needs - free > worst.needs - worst.free) worst = { domain, needs, free }
  }
  return worst
}

/** The count of large models, where that is what is in the way (M6). */
export function crowd(step: Step, demand: Demand): { large: number; holders: string[] } | undefined {
  const { limits, instances } = step.state
  if (!isLarge(demand, limits)) return undefined
  const holders = largeModels(instances, limits).filter((id) => id !== demand.model)
  return holders.length < limits.maxLargeModels ? undefined : { large: holders.length, holders }
}
