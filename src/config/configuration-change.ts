import { isDeepStrictEqual } from 'node:util'
import type { ModelSpec } from '../models/model-spec.ts'
import type { YardConfiguration } from './yard-configuration.ts'

/** What differs between two configurations. */
export interface ConfigurationDifference {
  /** Ids of models. */
  added: string[]
  removed: string[]
  changed: string[]
  /** Names of the other parts that changed: `memory`, `limits`, `server`, … */
  settings: string[]
}

/** What a watched file became: another configuration, or one that cannot be used and changes nothing. */
export type ConfigurationChange =
  | { type: 'reloaded'; configuration: YardConfiguration; difference: ConfigurationDifference }
  | { type: 'rejected'; file: string; message: string }

/** Nothing at all for configurations that mean the same, however they are written (BR-44). */
export function configurationDifference(
  before: YardConfiguration,
  after: YardConfiguration,
): ConfigurationDifference | undefined {
  if (isDeepStrictEqual(meaning(before), meaning(after))) return undefined
  const old = new Map(entriesOf(before).map((model) => [model.id, model]))
  const now = new Map(entriesOf(after).map((model) => [model.id, model]))
  const changed = entriesOf(after).filter(
    ({ id }) => old.has(id) && !isDeepStrictEqual(old.get(id), now.get(id)),
  )
  return {
    added: [...now.keys()].filter((id) => !old.has(id)),
    removed: [...old.keys()].filter((id) => !now.has(id)),
    changed: changed.map(({ id }) => id),
    settings: changedSettings(before, after),
  }
}

function entriesOf({ models, wildcards = [] }: YardConfiguration): ModelSpec[] {
  return [...models, ...wildcards]
}

/** What a configuration says, whatever it was put together from. */
function meaning(configuration: YardConfiguration): object {
  const { layers: _layers, ...rest } = configuration
  return { ...rest, engines: engineNames(configuration) }
}

/** A file that is run again makes other objects of the same engines. */
function engineNames({ engines = [] }: YardConfiguration): string[] {
  return engines.map(({ name }) => name)
}

function changedSettings(before: YardConfiguration, after: YardConfiguration): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)] as (keyof YardConfiguration)[])
  names.delete('models')
  names.delete('wildcards')
  names.delete('layers')
  names.delete('engines')
  const changed: string[] = [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]))
  return isDeepStrictEqual(engineNames(before), engineNames(after)) ? changed : [...changed, 'engines']
}
