import type { MemoryDomain } from '../host/memory.ts'

/** Interactive before normal before background; within one, arrival order. */
export type Priority = 'interactive' | 'normal' | 'background'

/** Contexts are written to disk never, where that is quicker than to compute them again, or whatever there is. */
export type ParkingMode = 'off' | 'worth' | 'always'

/** What parked contexts are bound by. Bytes. */
export interface ParkingLimits {
  mode: ParkingMode
  /** For all models together; absent = what the disk has room for. */
  budget?: number
  /** Contexts are written after each answer, too, while nobody needs the slot: at most so many bytes an hour. Absent = only before they would be lost. */
  answersPerHour?: number
}

/** Everything the policy is bound by; may change while running. Bytes and milliseconds. */
export interface PoolLimits {
  /** Budget per domain; a domain that is absent has none and nothing may be loaded there. */
  memory: Partial<Record<MemoryDomain, { budget: number; absolute: number }>>
  /** Bytes of the host that must stay free after a load (R5). */
  headroom: number
  /** Milliseconds to wait for the host's memory to come free before a refusal (R5). */
  memoryGrace: number
  maxLargeModels: number
  /** One instance for each device: nobody else is loaded where one holds memory (R14, `gpu.exclusive`). Default false. */
  exclusiveDevices?: boolean
  /** Models whose footprint is below this are not counted as large. */
  smallModel: number
  /** Runs at once over all models (P4). */
  concurrency: number
  /** Tickets that may wait, in all and per model (R2). */
  queue: number
  queuePerModel: number
  /** Threads that active instances may use together (R17). */
  threads: number
  /** R9 */
  swapPatience: number
  /** Milliseconds a run may go on after an operator's unload or a stop. */
  drainTimeout: number
  /** Milliseconds a freshly loaded instance is safe from eviction. */
  minimumResidency: number
  /** First delay and cap of the exponential backoff after failed loads (R11). */
  backoff: { first: number; most: number }
  /** Milliseconds between looks at the host's memory while idle copies could give some back (R20); default 10,000, 0 = never. */
  pressureInterval?: number
  /** R16: contexts on disk; absent = none. `worth`: what is worth its file; `always`: whatever has tokens, to try it out. */
  parking?: ParkingLimits
  /** Load deadline: `base` + `perGiB` × weights; starts again with each sign of progress (M10). */
  loadDeadline: { base: number; perGiB: number }
}
