import type { EndpointAbility, ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { declaredBytes, declaredFootprint } from '../declared-memory.ts'
import { NO_CAPABILITIES, type EngineCapabilities, type LoadPlan } from '../engine.ts'
import { hashOf } from '../planning.ts'
import { memoryOfAll } from './start-options.ts'
import { UPSTREAM_SWITCHES, UPSTREAM_TASKS, upstreamOptions } from './upstream-options.ts'

/**
 * What an endpoint is asked for until it is known better: all tasks that have a route, and what OpenAI's API promises of a chat model. The rest is
 * read differently from server to server: it is asked for where the endpoint is known to do it, or the configuration says so.
 */
export const UPSTREAM_CAPABILITIES: EngineCapabilities = {
  ...NO_CAPABILITIES,
  tasks: UPSTREAM_TASKS,
  tools: true,
  structuredOutput: true,
  logprobs: true,
  reasoning: true,
  images: true,
}

/** Nothing is known of the model there; what is too long, it refuses itself. */
const DEFAULT_CONTEXT = 131_072

/** Slots are how many requests may be there at once. Without `memory` it costs nothing here; one that is started costs what all its processes take. @throws ModelyardError `config_invalid` */
export function planUpstream(spec: ModelSpec, facts: ModelFacts): LoadPlan {
  const options = upstreamOptions(spec)
  const { memory = 0, capabilities, start } = options
  const declared = start === undefined ? { ram: memory } : memoryOfAll(start)
  const { key: _secret, ...shown } = options
  const contextSize = spec.context ?? facts.endpoint?.contextLength ?? DEFAULT_CONTEXT
  const parts = ['upstream', spec.id, contextSize, spec.slots, shown]
  return {
    engine: 'upstream',
    model: spec.id,
    key: hashOf(parts),
    contextSize,
    slots: spec.slots,
    threads: 0,
    footprint: declaredFootprint(declared),
    loadBytes: start === undefined ? 0 : declaredBytes(declared),
    capabilities: { ...foundCapabilities(facts.endpoint?.abilities ?? []), ...capabilities },
    spec,
    facts,
  }
}

/** What is taken for granted, corrected by what is known of the model there. */
function foundCapabilities(abilities: readonly EndpointAbility[]): EngineCapabilities {
  const known = new Map(abilities.map(({ name, has }) => [name, has]))
  const switches = UPSTREAM_SWITCHES.map((name) => [name, known.get(name) ?? UPSTREAM_CAPABILITIES[name]])
  const tasks = UPSTREAM_TASKS.filter((task) => known.get(task) !== false)
  return { ...UPSTREAM_CAPABILITIES, ...Object.fromEntries(switches), tasks }
}
