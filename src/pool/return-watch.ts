import { sumOf } from './policy/budget.ts'
import { sleep, type Clock } from '../base/clock.ts'
import type { LoadPlan } from '../engines/engine.ts'
import {
  footprintTotal,
  type MeasuredFootprint,
  type MemoryDomain,
  type HostReading,
} from '../host/memory.ts'

const LOOK_AGAIN = 100
/** Part of a device's bytes that must be seen back; drivers keep a little for themselves. */
const ENOUGH = 0.8

/** What an instance held in each domain when it was told to go, and how much was free then. */
export interface Departure {
  readonly bytes: Partial<Record<MemoryDomain, number>>
  readonly free: Partial<Record<MemoryDomain, number>>
}

/** Reads what is to come back, before the instance goes. */
export function departureOf(
  plan: LoadPlan,
  measured: MeasuredFootprint | undefined,
  reading: HostReading,
): Departure {
  const bytes: Departure['bytes'] = {}
  const free: Departure['free'] = {}
  for (const domain of Object.keys(plan.footprint) as MemoryDomain[]) {
    const terms = plan.footprint[domain]
    const read = reading[domain]
    bytes[domain] = measured?.[domain]?.private ?? (terms === undefined ? 0 : footprintTotal(terms))
    if (read !== undefined) free[domain] = read.available
  }
  return { bytes, free }
}

/**
 * R8, M9: resolves when the bytes are seen back. In RAM the proof is the exit itself: the process tree is gone. A device's memory is
 * looked at until most of it is free again, at most `patience` milliseconds; what is missing then is a leak.
 */
export async function seeReturned(
  departure: Departure,
  readHost: () => HostReading,
  clock: Clock,
  patience: number,
): Promise<{ released: number; leaked: number }> {
  const until = clock.now() + patience
  let missing = missingOf(departure, readHost)
  while (missing > 0 && clock.now() < until) {
    await sleep(clock, LOOK_AGAIN)
    missing = missingOf(departure, readHost)
  }
  return { released: sumOf(departure.bytes) - missing, leaked: missing }
}

/** Bytes of devices that are not free again; a domain that cannot be read is left to the check before the next load (R5). */
function missingOf(departure: Departure, readHost: () => HostReading): number {
  let missing = 0
  const devices = (Object.keys(departure.bytes) as MemoryDomain[]).filter((domain) => domain !== 'ram')
  if (devices.length === 0) return 0
  const reading = readHost()
  for (const domain of devices) {
    const held = departure.bytes[domain] ?? 0
    const before = departure.free[domain]
    const now = reading[domain]?.available
    if (before === undefined || now === undefined) continue
    const back = Math.max(0, now - before)
    if (back < held * ENOUGH) missing += held - back
  }
  return missing
}
