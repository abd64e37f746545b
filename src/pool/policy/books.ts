import type { MemoryDomain } from '../../host/memory.ts'
import { isLarge, largeModels, limitOf, overrun, takenDevice } from './budget.ts'
import type { Charges, Holder, Instance } from './state.ts'
import type { Books, Demand, Step } from './step.ts'

/** Bytes that will come back by themselves; stuck unloads are not counted on. */
export function isReturning(instance: Instance): boolean {
  return instance.state === 'unloading' && instance.leaving?.isStuck !== true
}

/** What is worked out of the instances once, however many ask: who holds what now, who will when all that leaves has left, and who never goes. */
export function booksOf(step: Step): Books {
  const { instances } = step.state
  if (step.books?.of === instances) return step.books
  const staying = instances.some(isReturning) ? instances.filter((one) => !isReturning(one)) : instances
  const now = step.rules.ledger(instances)
  const soon = staying === instances ? now : step.rules.ledger(staying)
  const books = { of: instances, staying, now, soon, protected: protectedOnes(step) }
  step.books = books
  return books
}

/** Pinned, or needed for `minInstances`: never evicted, so whatever they hold is not to be had (R6). */
function protectedOnes(step: Step): readonly Instance[] {
  let kept: Map<string, number> | undefined
  return step.state.instances.filter((instance) => {
    const model = step.state.models.get(instance.model)?.model
    if (model === undefined || instance.state === 'unloading' || instance.state === 'draining') return false
    if (model.pinned === true) return true
    if (model.minInstances === 0 || instance.plan.key !== model.plan.key) return false
    kept ??= new Map()
    const count = (kept.get(model.id) ?? 0) + 1
    kept.set(model.id, count)
    return count <= model.minInstances
  })
}

/** R4: whether the demand fits on top of what these hold together. While anything is over its limit nothing does. */
export function fitsOnTop(step: Step, booked: Charges, holders: readonly Holder[], demand: Demand): boolean {
  const { limits } = step.state
  if (overrun(booked, limits, demand.force) !== undefined) return false
  for (const { domain, bytes } of demand.charges) {
    const more = bytes + unsharedBytes(demand, domain, holders)
    if ((booked[domain] ?? 0) + more > limitOf(limits, domain, demand.force)) return false
  }
  if (takenDevice(limits, holders, demand) !== undefined) return false
  if (holders.length < limits.maxLargeModels || !isLarge(demand, limits)) return true
  const large = largeModels(holders, limits)
  const others = large.includes(demand.model) ? large.length - 1 : large.length
  return others < limits.maxLargeModels
}

/** What the demand's shared pages add to those that the holders have. */
function unsharedBytes(demand: Holder, domain: MemoryDomain, holders: readonly Holder[]): number {
  let sum = 0
  for (const pages of demand.shared) {
    if (pages.domain === domain) sum += Math.max(0, pages.bytes - sharedAlready(holders, pages.key))
  }
  return sum
}

function sharedAlready(holders: readonly Holder[], key: string): number {
  let most = 0
  for (const { shared } of holders) {
    for (const pages of shared) if (pages.key === key && pages.bytes > most) most = pages.bytes
  }
  return most
}
