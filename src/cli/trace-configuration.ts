import { poolLimits } from '../config/pool-limits.ts'
import type { YardConfiguration } from '../config/yard-configuration.ts'
import type { HostReading } from '../host/memory.ts'
import { domainsOf } from '../pool/policy/budget.ts'
import type { SimulatedModel } from '../pool/simulation/simulated-model.ts'
import type { Trace } from '../pool/simulation/trace.ts'
import { isCalled } from '../models/model-spec.ts'

/**
 * The same day under another configuration: its limits on the trace's machine, and of its models what changes the policy. What models take
 * and how long they load stays what the trace says.
 */
export function withConfiguration(trace: Trace, configuration: YardConfiguration): Trace {
  const memory: HostReading = {}
  for (const domain of domainsOf(trace.host)) {
    const bytes = trace.host[domain] ?? 0
    memory[domain] = { total: bytes, available: bytes, source: 'the trace' }
  }
  const limits = {
    ...poolLimits(configuration, { cores: trace.limits.threads, memory }),
    pressureInterval: 0,
  }
  const models = trace.models.map((model) => withSettings(model, configuration))
  return { ...trace, limits, models }
}

function withSettings(model: SimulatedModel, { models }: YardConfiguration): SimulatedModel {
  const spec = models.find((one) => isCalled(one, model.id))
  if (spec === undefined) return model
  const { minInstances, maxInstances, keepAlive, pinned } = spec
  return { ...model, minInstances, maxInstances, keepAlive, pinned }
}
