import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import type { ModelInput } from '../config/configuration-input.ts'
import type { YardConfiguration } from '../config/yard-configuration.ts'
import { CATALOG } from '../models/catalog.ts'
import { idOfSource } from '../models/discovery/model-id.ts'
import { formatSource } from '../models/format-source.ts'
import { parseSource, type ModelSource } from '../models/source.ts'
import { isCalled } from '../models/model-spec.ts'

/** Models named on a command line, as far as they must be added to the configuration. */
export interface CommandModels {
  /** Added to what is configured. */
  models: Record<string, ModelInput>
  /** Id of the model that each name stands for. */
  idOf: Map<string, string>
}

/**
 * A name stands for the configured model of that id or alias; else for the catalog's; else for a file or an address, which becomes a model
 * named after its file or repository. Anything else is left to the yard, which knows more names.
 */
export function commandModels(
  names: readonly string[],
  configured: YardConfiguration['models'],
  workingDirectory: string,
): CommandModels {
  const added: CommandModels = { models: {}, idOf: new Map() }
  for (const name of new Set(names)) addModel(name, configured, workingDirectory, added)
  return added
}

function addModel(
  name: string,
  configured: YardConfiguration['models'],
  workingDirectory: string,
  added: CommandModels,
): void {
  const known = configured.find((spec) => isCalled(spec, name))
  const source = known === undefined ? sourceOf(name, workingDirectory) : undefined
  const path = source?.kind === 'file' ? source.path : undefined
  const same = known ?? configured.find((spec) => path !== undefined && spec.source === path)
  if (same !== undefined || source === undefined) {
    added.idOf.set(name, same?.id ?? name)
    return
  }
  const taken = new Set([...configured.map(({ id }) => id), ...Object.keys(added.models)])
  const id = source.kind === 'catalog' ? name : freeId(idFor(source), taken)
  added.idOf.set(name, id)
  added.models[id] = { source: path ?? name }
}

/** Undefined for names that are neither in the catalog nor of a file or an address. */
function sourceOf(name: string, workingDirectory: string): ModelSource | undefined {
  const source = parseSource(name, workingDirectory)
  if (source.kind === 'catalog') return Object.hasOwn(CATALOG, source.name) ? source : undefined
  if (source.kind !== 'file') return source
  return /\.gguf$/i.test(name) || existsSync(source.path) ? source : undefined
}

/** A file is named after itself, whatever folder it is in; anything else is called what it will be called once it is fetched. */
function idFor(source: ModelSource): string {
  return idOfSource(source.kind === 'file' ? basename(source.path) : formatSource(source))
}

function freeId(wanted: string, taken: ReadonlySet<string>): string {
  let id = wanted
  for (let next = 2; taken.has(id); next++) id = `${wanted}-${next}`
  return id
}
