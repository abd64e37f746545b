import type { Clock, Timer } from './base/clock.ts'
import type { DeviceActivity } from './host/device-memory.ts'
import type { MemoryDomain } from './host/memory.ts'
import { readProcessorSeconds, readProcessorTimes, type ProcessorTimes } from './host/telemetry.ts'
import type { PoolStatus } from './pool/pool-status.ts'

const EVERY = 5000
const KEPT_FOR = 600_000

/** One look at the machine and the pool. Null and absent: not known; `unknown` of the history says why. */
export interface TelemetrySample {
  /** Milliseconds since 1970. */
  at: number
  /** Part of all cores' time since the look before in which they worked, for whomever, 0…1. */
  cpu: number | null
  /** Bytes. */
  memory: Partial<
    Record<MemoryDomain, { budget: number; booked: number; total: number | null; available: number | null }>
  >
  /** Part of the time in which each device worked, 0…1. */
  devices: Partial<Record<MemoryDomain, number | null>>
  /** Requests that wait, and that run. */
  queue: number
  runs: number
  /** `cpu`: cores in use since the look before; `memory`: bytes as measured last. */
  workers: { instance: string; model: string; cpu: number | null; memory: number | null }[]
}

export interface TelemetryHistory {
  /** Milliseconds between two looks, and for how long they are kept. */
  every: number
  keptFor: number
  /** What cannot be read here and why, a sentence each. */
  unknown: string[]
  /** Oldest first. */
  samples: TelemetrySample[]
}

export interface TelemetrySources {
  clock: Clock
  status: () => PoolStatus
  devices: () => DeviceActivity[]
  /** Default: the running system's. */
  processorTimes?: () => ProcessorTimes | undefined
  processorSeconds?: (pid: number) => number | undefined
}

interface Seen {
  at: number
  processors: ProcessorTimes | undefined
  workers: ReadonlyMap<string, number>
}

/** Looks every five seconds at what the machine and the pool do, and keeps ten minutes of it in memory (M18). */
export class YardTelemetry {
  readonly #sources: Required<TelemetrySources>
  #samples: TelemetrySample[] = []
  #before: Seen | undefined
  #timer: Timer | undefined

  constructor(sources: TelemetrySources) {
    const defaults = { processorTimes: readProcessorTimes, processorSeconds: readProcessorSeconds }
    this.#sources = { ...defaults, ...sources }
  }

  start(): void {
    this.#look()
    this.#timer = this.#sources.clock.setTimer(EVERY, () => this.start())
  }

  close(): void {
    this.#timer?.cancel()
  }

  /** @param since milliseconds since 1970: only what was seen after it */
  history(since = 0): TelemetryHistory {
    const samples = this.#samples.filter(({ at }) => at > since)
    return { every: EVERY, keptFor: KEPT_FOR, unknown: this.#unknown(), samples }
  }

  #look(): void {
    const { clock, status } = this.#sources
    const pool = status()
    const now = this.#seen(pool)
    const sample: TelemetrySample = {
      at: clock.wallTime(),
      cpu: busyShare(this.#before?.processors, now.processors),
      memory: memoryOf(pool),
      devices: Object.fromEntries(this.#sources.devices().map(({ domain, busy }) => [domain, busy ?? null])),
      queue: pool.queue.length,
      runs: pool.runs.active,
      workers: workersOf(pool, this.#before, now),
    }
    this.#before = now
    this.#samples = [...this.#samples, sample].slice(-KEPT_FOR / EVERY)
  }

  #seen({ instances }: PoolStatus): Seen {
    const { clock, processorTimes, processorSeconds } = this.#sources
    const workers = new Map<string, number>()
    for (const { id, pid } of instances) {
      const seconds = pid === undefined ? undefined : processorSeconds(pid)
      if (seconds !== undefined) workers.set(id, seconds)
    }
    return { at: clock.now(), processors: processorTimes(), workers }
  }

  #unknown(): string[] {
    const { devices, processorTimes } = this.#sources
    const processors = processorTimes() === undefined ? ['This system does not tell processor times.'] : []
    return [...processors, ...devices().flatMap(({ unknown }) => unknown ?? [])]
  }
}

function busyShare(before: ProcessorTimes | undefined, now: ProcessorTimes | undefined): number | null {
  if (before === undefined || now === undefined) return null
  const [busy, idle] = [now.busy - before.busy, now.idle - before.idle]
  return busy + idle <= 0 ? null : Math.min(1, Math.max(0, busy / (busy + idle)))
}

function memoryOf({ memory }: PoolStatus): TelemetrySample['memory'] {
  const all: TelemetrySample['memory'] = {}
  for (const [domain, status] of Object.entries(memory)) {
    if (status === undefined) continue
    const { budget, booked, host } = status
    const [total, available] = [host?.total ?? null, host?.available ?? null]
    all[domain as MemoryDomain] = { budget, booked, total, available }
  }
  return all
}

function workersOf(
  { instances }: PoolStatus,
  before: Seen | undefined,
  now: Seen,
): TelemetrySample['workers'] {
  const seconds = (now.at - (before?.at ?? now.at)) / 1000
  return instances.map(({ id, model, measured }) => {
    const [earlier, used] = [before?.workers.get(id), now.workers.get(id)]
    const isKnown = earlier !== undefined && used !== undefined && seconds > 0
    const cpu = isKnown ? Math.max(0, used - earlier) / seconds : null
    return { instance: id, model, cpu, memory: measured?.ram ?? null }
  })
}
