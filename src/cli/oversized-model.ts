import type { Clock } from '../base/clock.ts'
import { poolLimits } from '../config/pool-limits.ts'
import type { YardConfiguration } from '../config/yard-configuration.ts'
import { DeviceWatch } from '../host/device-watch.ts'
import { readHostFacts } from '../host/host-facts.ts'
import { HostMemoryProbe } from '../host/memory-probe.ts'
import { oversizedWarning } from '../runs/fetch-limit.ts'

/** What to say of a model that the configuration's budgets can never hold, asked when the size of its file is known. */
export function warningOfOversized(
  clock: Clock,
  configuration: YardConfiguration,
  model: string,
): (bytes: number) => Promise<string | undefined> {
  return async (bytes) => {
    const devices = new DeviceWatch({ clock })
    await devices.refresh()
    const host = readHostFacts(new HostMemoryProbe({ devices }))
    return oversizedWarning(model, bytes, poolLimits(configuration, host))
  }
}
