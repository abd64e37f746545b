import { resolve, sep } from 'node:path'
import { SystemClock } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import { nearestNames } from '../base/nearest.ts'
import type { YardConfiguration } from '../config/yard-configuration.ts'
import { ArtifactStore } from '../models/artifact-store.ts'
import { CATALOG } from '../models/catalog.ts'
import { commandConfiguration } from './command-configuration.ts'
import type { CommandContext, YardOptionsOfCommand } from './command-context.ts'

/** The files of one model, seen without a yard: files have locks of their own, so that a running server is no obstacle. */
export interface ModelFiles {
  id: string
  source: string
  store: ArtifactStore
  configuration: YardConfiguration
}

/** @throws ModelyardError `model_not_found`; `unsupported` for models without files */
export async function modelFiles(
  context: CommandContext,
  name: string,
  options: YardOptionsOfCommand,
): Promise<ModelFiles> {
  const wishes = { models: [name], ...(options.config !== undefined && { config: options.config }) }
  const { configuration, idOf } = await commandConfiguration(context, wishes)
  const spec = configuration.models.find(({ id }) => id === idOf.get(name))
  if (spec === undefined) throw unknownModel(name, configuration)
  if (spec.source === undefined) {
    throw new ModelyardError('unsupported', `"${spec.id}" has no files: its engine needs none.`)
  }
  const folder = configuration.directories.models
  const store = new ArtifactStore({ folder, clock: new SystemClock() })
  return { id: spec.id, source: spec.source, store, configuration }
}

function unknownModel(name: string, { models }: YardConfiguration): ModelyardError {
  const known = [...models.flatMap(({ id, aliases }) => [id, ...aliases]), ...Object.keys(CATALOG)]
  const nearest = nearestNames(name, known)
  const hint = nearest.length > 0 ? `Did you mean "${nearest[0]}"?` : `Known are: ${known.join(', ')}.`
  return new ModelyardError('model_not_found', `There is no model "${name}". ${hint}`, {
    details: { nearest },
  })
}

/** Whether a file is one that was fetched: only those may be deleted. */
export function isFetched(path: string, { directories }: YardConfiguration): boolean {
  return resolve(path).startsWith(resolve(directories.models) + sep)
}
