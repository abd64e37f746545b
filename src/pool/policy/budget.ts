import type { LoadPlan, SharedPages } from '../../engines/engine.ts'
import { footprintTotal, type MeasuredFootprint, type MemoryDomain } from '../../host/memory.ts'
import type { PoolLimits } from '../limits.ts'
import type { PoolModel } from '../pool-model.ts'
import type { Charge, Charges, Holder } from './state.ts'

/** The domains of a record of bytes. */
export function domainsOf(charges: Partial<Record<MemoryDomain, unknown>>): MemoryDomain[] {
  return Object.keys(charges) as MemoryDomain[]
}

const NOTHING_SHARED: readonly SharedPages[] = []

/** Pages of the program that were seen beyond what the plan says of them: there they are among the private bytes. */
function unplannedProgram(plan: LoadPlan, seen: MeasuredFootprint | undefined): number {
  const { sharedWeights: weights, programBytes = 0 } = plan
  const planned = programBytes + (weights?.domain === 'ram' ? weights.bytes : 0)
  return Math.max(0, (seen?.ram?.shared ?? 0) - planned)
}

/** R4: what a copy shares with others, each counted whole: whoever stays has all of it when the others go. */
function sharedPages(plan: LoadPlan, seen: MeasuredFootprint | undefined): readonly SharedPages[] {
  const { sharedWeights: weights, programBytes = 0, engine } = plan
  const bytes = programBytes + unplannedProgram(plan, seen)
  if (bytes === 0) return weights === undefined ? NOTHING_SHARED : [weights]
  const program: SharedPages = { key: `program of ${engine}`, domain: 'ram', bytes }
  return weights === undefined ? [program] : [weights, program]
}

/** Bytes of the plan in a domain that are not shared with others. */
function estimatedPrivate(plan: LoadPlan, domain: MemoryDomain): number {
  const terms = plan.footprint[domain]
  if (terms === undefined) return 0
  const shared = sharedPages(plan, undefined)
  return Math.max(0, footprintTotal(terms) - sharedBytes(shared, domain))
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
      const bytes = seen.private + (domain === 'ram' ? unplannedProgram(plan, learned) : 0)
      promise[domain] = Math.max(bytes, Math.min(estimate, bytes + takenLater(plan, domain)))
    }
  }
  return promise
}

function takenLater({ footprint, takenLater: later }: LoadPlan, domain: MemoryDomain): number {
  return later === undefined ? (footprint[domain]?.context ?? 0) : (later[domain] ?? 0)
}

/** What a holder is charged for: the larger of promise and measurement, domain by domain (M12), and what it shares. */
export function bookingOf(
  promise: Charges,
  measured: MeasuredFootprint | undefined,
  plan: LoadPlan,
): Pick<Holder, 'charges' | 'shared' | 'total'> {
  const charges: Charge[] = []
  const shared = sharedPages(plan, measured)
  let total = shared.reduce((sum, { bytes }) => sum + bytes, 0)
  for (const domain of new Set([...domainsOf(promise), ...domainsOf(measured ?? {})])) {
    // What turned out to be the program's is among what is shared now.
    const promised = (promise[domain] ?? 0) - (domain === 'ram' ? unplannedProgram(plan, measured) : 0)
    const bytes = Math.max(promised, measured?.[domain]?.private ?? 0)
    charges.push({ domain, bytes })
    total += bytes
  }
  return { charges, shared, total }
}

/** What a copy of the model would be promised, and charged. */
export function needsOf(
  { id, plan }: PoolModel,
  learned: MeasuredFootprint | undefined,
): { promise: Charges; needs: Holder } {
  const promise = promiseOf(plan, learned)
  return { promise, needs: { model: id, ...bookingOf(promise, learned, plan) } }
}

/** Private bytes a holder is charged in a domain. */
export function privateCharge(holder: Holder, domain: MemoryDomain): number {
  for (const charge of holder.charges) if (charge.domain === domain) return charge.bytes
  return 0
}

/** Bytes in a domain of pages that are shared. */
export function sharedBytes(shared: readonly SharedPages[], domain: MemoryDomain): number {
  let sum = 0
  for (const pages of shared) if (pages.domain === domain) sum += pages.bytes
  return sum
}

/** R4: bytes per domain of all holders together; shared pages once per key. */
export function ledger(holders: readonly Holder[]): Charges {
  const sum: Charges = {}
  let known: Map<string, number> | undefined
  for (const { charges, shared } of holders) {
    for (const { domain, bytes } of charges) sum[domain] = (sum[domain] ?? 0) + bytes
    for (const { key, domain, bytes } of shared) {
      known ??= new Map()
      const more = bytes - (known.get(key) ?? 0)
      if (more <= 0) continue
      known.set(key, bytes)
      sum[domain] = (sum[domain] ?? 0) + more
    }
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
  const large: string[] = []
  for (const holder of holders)
    if (isLarge(holder, limits) && !large.includes(holder.model)) large.push(holder.model)
  return large
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
