import type { LoadPlan, SharedWeights } from '../../engines/engine.ts'
import { footprintTotal, type MeasuredFootprint, type MemoryDomain } from '../../host/memory.ts'
import type { PoolLimits } from '../limits.ts'
import type { PoolModel } from '../pool-model.ts'
import type { Charge, Charges, Holder } from './state.ts'

/** The domains of a record of bytes. */
export function domainsOf(charges: Partial<Record<MemoryDomain, unknown>>): MemoryDomain[] {
  return Object.keys(charges) as MemoryDomain[]
}

/** Bytes of the plan in a domain that are not shared with others. */
function estimatedPrivate(plan: LoadPlan, domain: MemoryDomain): number {
  const terms = plan.footprint[domain]
  if (terms === undefined) return 0
  const shared = plan.sharedWeights?.domain === domain ? plan.sharedWeights.bytes : 0
  return Math.max(0, footprintTotal(terms) - shared)
}

/**
 * R4: private bytes an instance of this plan is promised. Where it was measured before, the estimate is corrected: at least what was
 * seen, at most that and what is taken only when the copy works.
 */
export function promiseOf(plan: LoadPlan, learned: MeasuredFootprint | undefined): Charges {
  const promise: Charges = {}
  for (const domain of new Set([...domainsOf(plan.footprint), ...domainsOf(learned ?? {})])) {
    const estimate = estimatedPrivate(plan, domain)
    const seen = learned?.[domain]
    if (seen === undefined) promise[domain] = estimate
    else {
      const bytes = measuredPrivate(seen, plan.sharedWeights, domain)
      promise[domain] = Math.max(bytes, Math.min(estimate, bytes + takenLater(plan, domain)))
    }
  }
  return promise
}

function takenLater({ footprint, takenLater: later }: LoadPlan, domain: MemoryDomain): number {
  return later === undefined ? (footprint[domain]?.context ?? 0) : (later[domain] ?? 0)
}

/**
 * Shared pages beyond the weights, which the ledger has once for all: those of the program and its libraries. They have no other place in
 * it, and three workers without them held 2 % more than the budget.
 */
function measuredPrivate(
  seen: { private: number; shared: number },
  weights: SharedWeights | undefined,
  domain: MemoryDomain,
): number {
  const elsewhere = weights?.domain === domain ? weights.bytes : 0
  return seen.private + Math.max(0, seen.shared - elsewhere)
}

/** What a holder is charged for: the larger of promise and measurement, domain by domain (M12). */
export function bookingOf(
  promise: Charges,
  measured: MeasuredFootprint | undefined,
  sharedWeights: SharedWeights | undefined,
): Pick<Holder, 'charges' | 'total'> {
  const charges: Charge[] = []
  let total = sharedWeights?.bytes ?? 0
  for (const domain of new Set([...domainsOf(promise), ...domainsOf(measured ?? {})])) {
    const seen = measured?.[domain]
    const real = seen === undefined ? 0 : measuredPrivate(seen, sharedWeights, domain)
    const bytes = Math.max(promise[domain] ?? 0, real)
    charges.push({ domain, bytes })
    total += bytes
  }
  return { charges, total }
}

/** What a copy of the model would be promised, and charged. */
export function needsOf(
  { id, plan }: PoolModel,
  learned: MeasuredFootprint | undefined,
): { promise: Charges; needs: Holder } {
  const promise = promiseOf(plan, learned)
  const { sharedWeights } = plan
  return { promise, needs: { model: id, sharedWeights, ...bookingOf(promise, undefined, sharedWeights) } }
}

/** Private bytes a holder is charged in a domain. */
export function privateCharge(holder: Holder, domain: MemoryDomain): number {
  for (const charge of holder.charges) if (charge.domain === domain) return charge.bytes
  return 0
}

/** R4: bytes per domain of all holders together; mapped weights once per key. */
export function ledger(holders: readonly Holder[]): Charges {
  const sum: Charges = {}
  let shared: Map<string, number> | undefined
  for (const { charges, sharedWeights } of holders) {
    for (const { domain, bytes } of charges) sum[domain] = (sum[domain] ?? 0) + bytes
    if (sharedWeights === undefined) continue
    const { key, domain, bytes } = sharedWeights
    shared ??= new Map()
    const more = bytes - (shared.get(key) ?? 0)
    if (more <= 0) continue
    shared.set(key, bytes)
    sum[domain] = (sum[domain] ?? 0) + more
  }
  return sum
}

/** All bytes of a record. */
export function sumOf(charges: Charges): number {
  let sum = 0
  for (const domain of domainsOf(charges)) sum += charges[domain] ?? 0
  return sum
}

export function limitOf(limits: PoolLimits, domain: MemoryDomain, force: boolean): number {
  const limit = limits.memory[domain]
  if (limit === undefined) return 0
  return force ? Math.max(limit.budget, limit.absolute) : limit.budget
}

/** The first domain that holds more than its limit. */
export function overrun(
  booked: Charges,
  limits: PoolLimits,
  force: boolean,
): { domain: MemoryDomain; booked: number; limit: number } | undefined {
  for (const domain of domainsOf(booked)) {
    const bytes = booked[domain] ?? 0
    const limit = limitOf(limits, domain, force)
    if (bytes > limit) return { domain, booked: bytes, limit }
  }
  return undefined
}

/** M6: small models are not counted, their bytes are. */
export function isLarge(holder: Holder, limits: PoolLimits): boolean {
  return holder.total >= limits.smallModel
}

/** Ids of the large models among the holders, each once. */
export function largeModels(holders: readonly Holder[], limits: PoolLimits): string[] {
  const large = new Set<string>()
  for (const holder of holders)
    if (!large.has(holder.model) && isLarge(holder, limits)) large.add(holder.model)
  return [...large]
}

/**
 * R14, F6: the device that the demand wants and somebody else has, where each belongs to one instance. Whoever is alive and holds bytes there is
 * its owner: no flag that a failure could leave behind.
 */
export function takenDevice(
  limits: PoolLimits,
  holders: readonly Holder[],
  demand: Holder,
): MemoryDomain | undefined {
  if (limits.exclusiveDevices !== true) return undefined
  return devicesOf(demand).find((domain) => holders.some((holder) => privateCharge(holder, domain) > 0))
}

function devicesOf({ charges }: Holder): MemoryDomain[] {
  return charges.flatMap(({ domain, bytes }) => (domain !== 'ram' && bytes > 0 ? domain : []))
}
