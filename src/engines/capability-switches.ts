import { list, object } from '../base/compound-shapes.ts'
import { choice, flag } from '../base/scalar-shapes.ts'
import type { Shape } from '../base/shape.ts'
import type { TaskKind } from '../tasks/task.ts'
import { NO_CAPABILITIES, type EngineCapabilities } from './engine.ts'

/** What an engine can do beside its tasks. */
export type Capability = Exclude<keyof EngineCapabilities, 'tasks'>

/** What a model's entry says of what it can and cannot do, where that differs from its engine's word. */
export type CapabilitySwitches<Names extends Capability = Capability> = Partial<Record<Names, boolean>> & {
  tasks?: TaskKind[]
}

export const CAPABILITIES: readonly Capability[] = Object.keys(NO_CAPABILITIES).filter(
  (name): name is Capability => name !== 'tasks',
)

/** The option `capabilities` of an engine: a switch for each of these, and the tasks out of those it knows. */
export function capabilitySwitches<Names extends Capability>(
  tasks: readonly TaskKind[],
  names: readonly Names[],
): Shape<CapabilitySwitches<Names>> {
  const switches = Object.fromEntries(names.map((name) => [name, flag()]))
  const fields = { ...switches, tasks: list(choice(...tasks), { min: 1 }) }
  return object(fields) as unknown as Shape<CapabilitySwitches<Names>>
}
