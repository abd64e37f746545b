import { SystemClock } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import { defaultSpec } from '../config/default-spec.ts'
import type { YardConfiguration } from '../config/yard-configuration.ts'
import { ArtifactStore } from '../models/artifact-store.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import { ModelRegistry } from '../models/registry.ts'
import { commandConfiguration } from './command-configuration.ts'
import type { CommandContext, YardOptionsOfCommand } from './command-context.ts'

/** The files of one model, seen without a yard: files have locks of their own, so that a running server is no obstacle. */
export interface ModelFiles {
  spec: ModelSpec
  /** The model's source. */
  source: string
  configuration: YardConfiguration
  artifacts: ArtifactStore
  registry: ModelRegistry
}

/** @throws ModelyardError `model_not_found`; `unsupported` for models without files */
export async function modelFiles(
  context: CommandContext,
  name: string,
  options: YardOptionsOfCommand,
): Promise<ModelFiles> {
  const wishes = { models: [name], ...(options.config !== undefined && { config: options.config }) }
  const { configuration, idOf } = await commandConfiguration(context, wishes)
  const { directories, downloads: transfer, models: specs } = configuration
  const artifacts = new ArtifactStore({ folder: directories.models, clock: new SystemClock(), transfer })
  const registry = new ModelRegistry({
    specs,
    artifacts,
    defaultSpec: (id, source) => defaultSpec(configuration, id, source),
  })
  await registry.refresh()
  const spec = registry.resolve(idOf.get(name) ?? name)
  if (spec.source === undefined) {
    throw new ModelyardError('unsupported', `"${spec.id}" has no files: its engine needs none.`)
  }
  return { spec, source: spec.source, configuration, artifacts, registry }
}
