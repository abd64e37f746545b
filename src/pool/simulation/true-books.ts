import { footprintTotal, type MemoryDomain } from '../../host/memory.ts'
import type { Charges, PoolState } from '../policy/state.ts'
import { newCopy, sharedOf, type Copy } from './copy.ts'
import type { World } from './world.ts'

/** Bytes of a copy by itself: the larger of what its plan says and what it takes. */
export function charge(copy: Copy, state: PoolState, domain: MemoryDomain): number {
  const terms = copy.plan.footprint[domain]
  if (terms === undefined) return 0
  const promised = footprintTotal(terms) - sharedOf(copy.plan, domain)
  const known = state.instances.find(({ id }) => id === copy.id)
  const corrected = known?.promise[domain] ?? promised
  const measured = copy.reported?.[domain]?.private ?? 0
  return Math.max(Math.min(promised, corrected), measured)
}

/** All that is there when this one starts: what the same decision starts later does not count yet. */
export function presentWith(world: World, newcomer: string): Copy[] {
  const copies = [...world.copies.values()]
  return copies.slice(0, copies.findIndex(({ id }) => id === newcomer) + 1)
}

/** Bytes per domain of all these together; mapped weights and the program once. */
export function booked(copies: Iterable<Copy>, state: PoolState): Charges {
  const sum: Charges = {}
  const shared = new Map<string, { domain: MemoryDomain; bytes: number }>()
  let program = 0
  for (const copy of copies) {
    program = Math.max(program, copy.plan.programBytes ?? 0)
    for (const domain of Object.keys(copy.plan.footprint) as MemoryDomain[]) {
      sum[domain] = (sum[domain] ?? 0) + charge(copy, state, domain)
    }
    if (copy.plan.sharedWeights !== undefined)
      shared.set(copy.plan.sharedWeights.key, copy.plan.sharedWeights)
  }
  for (const { domain, bytes } of shared.values()) sum[domain] = (sum[domain] ?? 0) + bytes
  if (program > 0) sum.ram = (sum.ram ?? 0) + program
  return sum
}

/** M6 */
export function isLarge(copy: Copy, state: PoolState): boolean {
  const domains = Object.keys(copy.plan.footprint) as MemoryDomain[]
  const own = domains.reduce((sum, domain) => sum + charge(copy, state, domain), 0)
  const shared = domains.reduce((sum, domain) => sum + sharedOf(copy.plan, domain), 0)
  return own + shared >= state.limits.smallModel
}

/** With all that is leaving gone, the model fits the limits and the machine. */
export function couldLoad(world: World, state: PoolState, id: string): boolean {
  const model = state.models.get(id)?.model
  if (model === undefined) return false
  const isForced = state.queues.some(
    (queue) => queue.model === id && queue.tickets.some(({ force }) => force),
  )
  const staying = [...world.copies.values()].filter(
    (copy) => copy.stage !== 'leaving' && !copy.isCancelled && !copy.isGone,
  )
  const newcomer = newCopy('newcomer', model.plan, { id, footprint: model.plan.footprint }, 0)
  const sums = booked([...staying, newcomer], state)
  return (Object.keys(newcomer.plan.footprint) as MemoryDomain[]).every((domain) => {
    const limit = state.limits.memory[domain]
    const most = (isForced ? limit?.absolute : limit?.budget) ?? 0
    const leaving = [...world.copies.values()].filter((copy) => !staying.includes(copy))
    const back = leaving.reduce(
      (sum, copy) => sum + charge(copy, state, domain) + sharedOf(copy.plan, domain),
      0,
    )
    const correction = Math.min(charge(newcomer, state, domain), correctedNeed(state, id, domain))
    const need = Math.min(correction, charge(newcomer, state, domain))
    return (
      (sums[domain] ?? 0) - charge(newcomer, state, domain) + need <= most &&
      world.machine.available(domain) + back >= need
    )
  })
}

/** What was learned of the plan may have made its need smaller, by no more than the context. */
function correctedNeed(state: PoolState, id: string, domain: MemoryDomain): number {
  const model = state.models.get(id)
  const seen = model?.learned?.[domain]
  const context = model?.model.plan.footprint[domain]?.context ?? 0
  if (seen === undefined) return Number.POSITIVE_INFINITY
  const isShared = model?.model.plan.sharedWeights?.domain === domain
  return seen.private + (isShared ? 0 : seen.shared) + context
}
