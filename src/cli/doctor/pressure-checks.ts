import { formatBytes } from '../../base/bytes.ts'
import type { YardConfiguration } from '../../config/yard-configuration.ts'
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

/** Whether the budgets that were set in bytes exist on this machine, or in its container. */
export function examineBudget({ memory }: Pick<YardConfiguration, 'memory'>, reading: HostReading): Check {
  const name = 'budget'
  const set = Object.entries(memory.budget) as [MemoryDomain, { bytes: number } | { percent: number }][]
  for (const [domain, share] of set) {
    const problem = 'bytes' in share ? missing(domain, share.bytes, reading[domain]) : undefined
    if (problem !== undefined) return { name, status: 'warning', ...problem }
  }
  const found =
    set.length === 0 ? '75 % of memory, 90 % of each device' : set.map(([domain]) => domain).join(', ')
  return { name, status: 'ok', found }
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
