import { formatBytes } from '../../base/bytes.ts'
import { toModelyardError } from '../../base/errors.ts'
import { poolLimits } from '../../config/pool-limits.ts'
import type { YardConfiguration } from '../../config/yard-configuration.ts'
import { coreCount } from '../../host/host-facts.ts'
import type { DomainReading, HostReading, MemoryDomain } from '../../host/memory.ts'
import { readMemoryPressure, type MemoryPressure } from '../../host/memory-pressure.ts'
import type { Check } from './check.ts'

/** Percent of time that tasks may wait for memory, and bytes of swap that may be in use, without anything being wrong. */
const MUCH_WAITING = 10
const MUCH_SWAP = 1024 ** 3

/** Whether the machine is already short of memory. */
export function examinePressure(pressure: MemoryPressure = readMemoryPressure()): Check {
  const name = 'pressure'
  const { waiting, swap } = pressure
  if (waiting === undefined && swap === undefined)
    return { name, status: 'ok', found: 'this system does not tell' }
  const found = [
    ...(waiting === undefined ? [] : [`tasks wait for memory ${waiting} % of the time`]),
    ...(swap === undefined ? [] : [`${formatBytes(swap.used)} of ${formatBytes(swap.total)} of swap in use`]),
  ].join('; ')
  if (waiting !== undefined && waiting >= MUCH_WAITING) {
    const remedy =
      'Close other programs or lower memory.budget: this machine is out of memory and slows down.'
    return { name, status: 'warning', found, remedy }
  }
  if (swap !== undefined && swap.used >= MUCH_SWAP && swap.used >= swap.total / 2) {
    const remedy =
      'Close other programs or lower memory.budget: swap is not counted as memory, and models in it are useless.'
    return { name, status: 'warning', found, remedy }
  }
  return { name, status: 'ok', found }
}

/** What the budgets come to on this machine, and whether those that were set in bytes exist there, or in its container. */
export function examineBudget(configuration: YardConfiguration, reading: HostReading): Check {
  const name = 'budget'
  const set = Object.entries(configuration.memory.budget) as [
    MemoryDomain,
    { bytes: number } | { percent: number },
  ][]
  for (const [domain, share] of set) {
    const problem = 'bytes' in share ? missing(domain, share.bytes, reading[domain]) : undefined
    if (problem !== undefined) return { name, status: 'warning', ...problem }
  }
  try {
    return describeBudgets(configuration, reading)
  } catch (error) {
    const remedy = 'Correct it in the configuration: the server does not start with it.'
    return { name, status: 'problem', found: toModelyardError(error).message, remedy }
  }
}

/** @throws ModelyardError `config_invalid` for an absolute limit below its budget */
function describeBudgets(configuration: YardConfiguration, reading: HostReading): Check {
  const name = 'budget'
  const limits = poolLimits(configuration, { cores: coreCount(), memory: reading }).memory
  const domains = Object.entries(limits).flatMap(([domain, limit]) =>
    limit === undefined ? [] : [{ domain, ...limit }],
  )
  const found = domains.map(({ domain, budget, absolute }) => {
    return `${domain}: ${formatBytes(budget)}, forced loads up to ${formatBytes(absolute)}`
  })
  const empty = domains.filter(({ budget }) => budget === 0)
  if (empty.length === 0) return { name, status: 'ok', found: found.join('; ') || 'no memory can be read' }
  const which = empty.map(({ domain }) => domain).join(' and ')
  const remedy = `Raise memory.budget of ${which}: with 0 bytes no model is loaded there.`
  return { name, status: 'warning', found: found.join('; '), remedy }
}

function missing(
  domain: MemoryDomain,
  bytes: number,
  there: DomainReading | undefined,
): (Pick<Check, 'found' | 'remedy'> & { remedy: string }) | undefined {
  if (there === undefined) {
    const found = `${formatBytes(bytes)} of ${domain}, which is not there or cannot be read`
    return { found, remedy: `Remove memory.budget of ${domain}: nothing can be loaded there.` }
  }
  if (bytes <= there.total) return undefined
  const found = `${formatBytes(bytes)} of ${domain}, which has ${formatBytes(there.total)} (${there.source})`
  const remedy = `Lower memory.budget of ${domain} below ${formatBytes(there.total)}, or raise the limit of the container or control group.`
  return { found, remedy }
}
