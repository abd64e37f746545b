import type { PoolLimits } from '../limits.ts'
import type { SimulatedModel } from './simulated-model.ts'

/** A random history in small numbers, so that a failing one can be made smaller by making its numbers smaller. */
export interface History {
  seed: number
  limits: readonly number[]
  /** Each a model: its properties picked by number. */
  models: readonly (readonly number[])[]
  /** Each something that happens: what, after which delay, to which model, and two numbers more. */
  actions: readonly (readonly [number, number, number, number, number])[]
}

/** One of the items, by any number. */
export function pick<Item>(items: readonly Item[], number: number | undefined): Item {
  return items[(number ?? 0) % items.length] as Item
}

export function limitsOf(numbers: readonly number[]): PoolLimits {
  const budget = pick([100, 100, 100, 60], numbers[0])
  return {
    memory: {
      ram: { budget, absolute: budget + pick([20, 0], numbers[1]) },
      'gpu:0': { budget: 50, absolute: 60 },
    },
    headroom: pick([0, 10], numbers[2]),
    memoryGrace: 2000,
    maxLargeModels: pick([3, 2, 1], numbers[3]),
    smallModel: 30,
    concurrency: pick([8, 3, 2, 1], numbers[4]),
    queue: pick([50, 10, 4], numbers[5]),
    queuePerModel: pick([50, 6, 2], numbers[6]),
    threads: pick([8, 4, 2, 1], numbers[7]),
    swapPatience: pick([1000, 5000, 0], numbers[8]),
    drainTimeout: pick([3000, 500], numbers[9]),
    minimumResidency: pick([0, 1500], numbers[10]),
    backoff: { first: 1000, most: 8000 },
    loadDeadline: { base: 6000, perGiB: 0 },
    parking: {
      mode: pick(['always', 'worth', 'off'], numbers[9]),
      budget: pick([400_000, 150_000, 0], numbers[8]),
      ...pick([{}, { answersPerHour: 200_000 }], numbers[10]),
    },
    pressureInterval: pick([0, 20_000, 0], numbers[12]),
  }
}

export function modelOf(index: number, numbers: readonly number[], revision = 0): SimulatedModel {
  const size = pick([40, 20, 60, 80, 10, 95], numbers[0])
  const context = pick([5, 0, 10], numbers[1])
  const isOnDevice = pick([false, false, true], numbers[2])
  const shares = pick([false, false, false, true], numbers[3])
  const minInstances = pick([0, 0, 0, 0, 1], numbers[7])
  const ram = { weights: size - context, context, compute: 0, base: 0 }
  const device = { weights: 30, context: 0, compute: 0, base: 0 }
  return {
    id: `m${index}`,
    revision,
    footprint: isOnDevice ? { ram, 'gpu:0': device } : { ram },
    ...(shares ? { sharedWeights: { key: `file-${index % 2}`, domain: 'ram' as const, bytes: 5 } } : {}),
    slots: pick([2, 1, 3, 4], numbers[4]),
    threads: pick([1, 2, 0, 3], numbers[5]),
    maxInstances: Math.max(minInstances, pick([1, 1, 2, 3], numbers[6])),
    minInstances,
    keepAlive: pick([5000, 300_000, 0, 500, -1], numbers[8]),
    pinned: pick([false, false, false, false, 'soft', true] as const, numbers[9]),
    loadTime: pick([100, 1000, 4000, 8000], numbers[10]),
    warmUpTime: pick([10, 300], numbers[11]),
    unloadTime: pick([20, 700, 5000, 90_000], numbers[12]),
    reality: pick([1, 1, 0.6, 1.2], numbers[13]),
    failing: pick([0, 0, 0.4], numbers[14]),
    ...pick([{}, {}, { contextBudget: 60_000 }], numbers[12]),
    parks: pick([true, true, false], numbers[13]),
    savesWhileAnswering: pick([true, false], numbers[14]),
    crashing: pick([0, 0, 0, 0.3], numbers[15]),
    ...(pick([false, false, true], numbers[16]) ? { uses: [`m${index + 1}`] } : {}),
  }
}
