import type { MemoryDomain } from '../../host/memory.ts'
import { domainsOf } from '../policy/budget.ts'
import type { PoolLimits } from '../limits.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND

/** The limits of a machine with so many bytes for models per domain, as they are by default, and no headroom. */
export function defaultLimits(budgets: Partial<Record<MemoryDomain, number>>): PoolLimits {
  const memory: PoolLimits['memory'] = {}
  for (const domain of domainsOf(budgets)) {
    const budget = budgets[domain] ?? 0
    memory[domain] = { budget, absolute: budget }
  }
  return {
    memory,
    headroom: 0,
    memoryGrace: 2 * SECOND,
    maxLargeModels: 3,
    smallModel: 1024 ** 3,
    concurrency: 64,
    queue: 512,
    queuePerModel: 128,
    threads: 64,
    swapPatience: 5 * SECOND,
    drainTimeout: 2 * MINUTE,
    minimumResidency: 2 * SECOND,
    backoff: { first: SECOND, most: 5 * MINUTE },
    loadDeadline: { base: MINUTE, perGiB: MINUTE },
    pressureInterval: 0,
  }
}
