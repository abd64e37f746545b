import type { HostReading, MemoryDomain } from '../../host/memory.ts'
import { privateCharge, sharedBytes } from './budget.ts'
import type { Holder, Instance, PoolState } from './state.ts'
import type { Shortage } from './step.ts'

/** Loads that have begun have not taken all their memory yet: what is committed counts, not what is live (BR-64). */
function isCommitted(instance: Instance): boolean {
  return instance.state === 'loading' || (instance.state === 'warming' && instance.measured === undefined)
}

/** What this holder will still take from the host in a domain, shared pages included unless someone else keeps them in memory. */
function hostBytes(holder: Holder, domain: MemoryDomain, others: readonly Holder[]): number {
  const alone = holder.shared.filter(
    ({ key }) => !others.some(({ shared }) => shared.some((pages) => pages.key === key)),
  )
  return privateCharge(holder, domain) + sharedBytes(alone, domain)
}

/**
 * What comes back for certain when these go: what was measured of them, or promised before. Shared pages are not counted: the system
 * takes file pages for available already.
 */
function givenBack(leaving: readonly Instance[], domain: MemoryDomain): number {
  let sum = 0
  for (const instance of leaving) {
    sum += instance.measured?.[domain]?.private ?? privateCharge(instance, domain)
  }
  return sum
}

function sumOf(holders: readonly Holder[], domain: MemoryDomain, others: readonly Holder[]): number {
  return holders.reduce((sum, holder, index) => {
    return sum + hostBytes(holder, domain, [...others, ...holders.slice(0, index)])
  }, 0)
}

/** R5: bytes that must be free for the demand, beside those that loads in progress will still take. */
function neededOf(state: PoolState, demand: Holder, domain: MemoryDomain, stay: readonly Instance[]): number {
  const committed = stay.filter(isCommitted)
  const resident = stay.filter((instance) => !isCommitted(instance))
  const needed = hostBytes(demand, domain, stay)
  const headroom = domain === 'ram' ? state.limits.headroom : 0
  return needed === 0 ? 0 : needed + headroom + sumOf(committed, domain, resident)
}

/**
 * R5: whether the host's really available memory, and what the leaving instances give back, cover the demand with headroom beside the
 * claims of others. A domain that cannot be read covers nothing.
 */
export function shortage(
  state: PoolState,
  reading: HostReading,
  demand: Holder,
  leaving: readonly Instance[],
  claims: readonly Holder[] = [],
): Shortage | undefined {
  const stay = state.instances.filter(
    (instance) => !leaving.includes(instance) && instance.state !== 'unloading',
  )
  for (const domain of domainsOfHolder(demand)) {
    const own = neededOf(state, demand, domain, stay)
    if (own === 0) continue
    const needed = own + sumOf(claims, domain, [...stay, demand])
    const read = reading[domain]
    if (read === undefined) return { domain, needed, available: undefined }
    const available = read.available + givenBack(leaving, domain)
    if (available < needed) return { domain, needed, available }
  }
  return undefined
}

function domainsOfHolder({ charges, shared }: Holder): Set<MemoryDomain> {
  return new Set([...charges, ...shared].map(({ domain }) => domain))
}
