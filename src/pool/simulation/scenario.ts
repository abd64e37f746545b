import type { Charges } from '../policy/state.ts'
import type { PoolLimits } from '../limits.ts'
import { Inspector } from './inspector.ts'
import type { SimulatedModel } from './simulated-model.ts'
import { World, type WorldOptions } from './world.ts'

/** Limits that limit nothing but memory, to 100 bytes. */
export const ROOMY: PoolLimits = {
  memory: { ram: { budget: 100, absolute: 120 } },
  headroom: 0,
  memoryGrace: 2000,
  maxLargeModels: 10,
  smallModel: 20,
  concurrency: 100,
  queue: 100,
  queuePerModel: 50,
  threads: 100,
  swapPatience: 5000,
  drainTimeout: 10_000,
  minimumResidency: 0,
  backoff: { first: 1000, most: 8000 },
  loadDeadline: { base: 10_000, perGiB: 0 },
  pressureInterval: 0,
}

export interface Scenario extends Omit<WorldOptions, 'limits' | 'host'> {
  limits?: Partial<PoolLimits>
  host?: Charges
}

/** A world under inspection, with room for 100 bytes of models in a machine of 1,000. */
export function newWorld(scenario: Scenario = {}): World {
  const { limits, host = { ram: 1000 }, observe, ...rest } = scenario
  const inspector = new Inspector()
  return new World({
    ...rest,
    limits: { ...ROOMY, ...limits },
    host,
    observe: (look) => {
      inspector.observe(look)
      observe?.(look)
    },
  })
}

/** A model of so many bytes, all of them weights of its own; one slot. */
export function sized(id: string, bytes: number, more: Partial<SimulatedModel> = {}): SimulatedModel {
  return { id, footprint: { ram: { weights: bytes, context: 0, compute: 0, base: 0 } }, slots: 1, ...more }
}
