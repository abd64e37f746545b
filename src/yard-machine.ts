import type { Clock } from './base/clock.ts'
import type { HostFacts } from './engines/engine.ts'
import type { EventBus } from './events/event-bus.ts'
import { DeviceWatch } from './host/device-watch.ts'
import { readHostFacts } from './host/host-facts.ts'
import { HostMemoryProbe } from './host/memory-probe.ts'
import type { MemoryDomain, MemoryProbe } from './host/memory.ts'
import type { PoolStatus } from './pool/pool-status.ts'

/** What the yard knows of the machine it runs on. */
export interface Machine {
  devices: DeviceWatch
  probe: MemoryProbe
  host: () => ReturnType<typeof readHostFacts>
}

/** Begins to watch the devices; those that do not tell their memory are warned of and not used (R5). */
export async function watchMachine(
  clock: Clock,
  bus: EventBus,
  memoryProbe: MemoryProbe | undefined,
): Promise<Machine> {
  const devices = new DeviceWatch({ clock })
  await devices.start()
  for (const reason of devices.unreadable()) {
    const message = `A GPU is not used, because its memory is unknown: ${reason}.`
    bus.emit('warning-raised', { code: 'gpu_unreadable', message })
  }
  const probe = memoryProbe ?? new HostMemoryProbe({ devices })
  return { devices, probe, host: () => readHostFacts(probe) }
}

/** What there is for models in each domain, and what of that is not promised yet. */
export function budgetsOf(memory: PoolStatus['memory']): Required<Pick<HostFacts, 'budget' | 'free'>> {
  const budget: HostFacts['budget'] = {}
  const free: HostFacts['free'] = {}
  for (const [name, status] of Object.entries(memory)) {
    if (status === undefined) continue
    budget[name as MemoryDomain] = status.budget
    free[name as MemoryDomain] = Math.max(0, status.budget - status.booked)
  }
  return { budget, free }
}
