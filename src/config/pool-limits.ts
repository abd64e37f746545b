import { formatBytes } from '../base/bytes.ts'
import { ModelyardError } from '../base/errors.ts'
import type { DomainReading, HostReading, MemoryDomain } from '../host/memory.ts'
import type { PoolLimits } from '../pool/limits.ts'
import type { MemoryShare, MemoryShares, YardConfiguration } from './yard-configuration.ts'

const GIB = 1024 ** 3

/**
 * What the operator left open, settled for this machine: design.md, "Defaults". Call again when the machine or the settings
 * change. @throws ModelyardError `config_invalid` for an absolute limit that is below the budget on this machine
 */
export function poolLimits(
  { memory, cpu, gpu, limits, swap, drain, contexts }: YardConfiguration,
  host: { cores: number; memory: HostReading },
): PoolLimits {
  const threads = cpu.threads ?? host.cores
  return {
    memory: withoutSpares(domainLimits(memory.budget, memory.absolute, host.memory), swap.spareWorkers),
    headroom: memory.headroom ?? defaultHeadroom(host.memory.ram?.total),
    memoryGrace: memory.grace,
    maxLargeModels: memory.maxLargeModels,
    smallModel: memory.smallModel,
    exclusiveDevices: gpu.exclusive,
    concurrency: limits.concurrency,
    queue: limits.queue,
    queuePerModel: limits.queuePerModel,
    threads: cpu.oversubscribe ? Number.MAX_SAFE_INTEGER : threads,
    swapPatience: swap.patience,
    drainTimeout: drain.timeout,
    minimumResidency: MINIMUM_RESIDENCY,
    backoff: { first: 1000, most: 5 * 60_000 },
    parking: {
      mode: contexts.parking,
      ...(contexts.budget !== undefined && { budget: contexts.budget }),
      ...(contexts.answersPerHour !== undefined && { answersPerHour: contexts.answersPerHour }),
    },
    loadDeadline: { base: 60_000, perGiB: 60_000 },
  }
}

/**
 * Bytes kept for each process that has imported node-llama-cpp and started llama.cpp. Measured: 40 MiB of its own and 46 MiB of files, of which at least half is Node's
 * program, shared with the server (45 MiB of PSS beside another worker).
 */
const SPARE_WORKER = 72 * 1024 ** 2

/** R18: what waits counts as well. */
function withoutSpares({ ram, ...devices }: PoolLimits['memory'], spares: number): PoolLimits['memory'] {
  if (ram === undefined) return devices
  const less = (bytes: number): number => Math.max(0, bytes - spares * SPARE_WORKER)
  return { ...devices, ram: { budget: less(ram.budget), absolute: less(ram.absolute) } }
}

/** Long enough that two clients who alternate do not reload each time (F20), short enough that nobody waits for it in earnest. */
const MINIMUM_RESIDENCY = 2000

function defaultHeadroom(total: number | undefined): number {
  return total !== undefined && total < 8 * GIB ? GIB / 2 : 1.5 * GIB
}

/** A domain that cannot be read has no limits, and nothing may be loaded there (R5). */
function domainLimits(
  budgets: MemoryShares,
  absolutes: MemoryShares,
  reading: HostReading,
): PoolLimits['memory'] {
  const result: PoolLimits['memory'] = {}
  for (const [name, there] of Object.entries(reading)) {
    if (there === undefined) continue
    const domain = name as MemoryDomain
    const device = domain !== 'ram'
    const soft = budgets[domain]
    const hard = absolutes[domain]
    const budget = bytesOf(soft ?? { percent: device ? 90 : 75 }, there)
    const absolute = bytesOf(hard ?? { percent: device ? 95 : 90 }, there)
    if (soft !== undefined && hard !== undefined && absolute < budget)
      throw contradiction(domain, absolute, budget)
    // What was left open gives way to what was said.
    result[domain] =
      hard === undefined
        ? { budget, absolute: Math.max(budget, absolute) }
        : { budget: Math.min(budget, absolute), absolute }
  }
  return result
}

function contradiction(domain: MemoryDomain, absolute: number, budget: number): ModelyardError {
  const message = `memory.absolute of ${domain} is ${formatBytes(absolute)} on this machine, below the budget of ${formatBytes(budget)}. Raise it, or lower memory.budget.`
  return new ModelyardError('config_invalid', message, { details: { domain, absolute, budget } })
}

function bytesOf(share: MemoryShare, { total }: DomainReading): number {
  return 'bytes' in share ? share.bytes : Math.floor((total * share.percent) / 100)
}
