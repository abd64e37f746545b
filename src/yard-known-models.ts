import type { Clock } from './base/clock.ts'
import { defaultSpec } from './config/default-spec.ts'
import { MODEL_ID } from './config/model-shape.ts'
import type { YardConfiguration } from './config/yard-configuration.ts'
import type { EventBus } from './events/event-bus.ts'
import type { IsolatedEngines } from './isolated-engines.ts'
import { requireEngine } from './runs/require-engine.ts'
import { ArtifactStore, type EnsureOptions } from './models/artifact-store.ts'
import { KnownKinds } from './models/known-kinds.ts'
import { ModelInspector } from './models/inspect-model.ts'
import type { ModelSpec } from './models/model-spec.ts'
import { RecipeBook } from './models/recipe-book.ts'
import { ModelRegistry } from './models/registry.ts'
import { ServedModels } from './models/served-models.ts'
import type { Store } from './store/open-store.ts'

/** Which models there are, where their files are, and what is known of those. */
export interface KnownModels {
  artifacts: ArtifactStore
  recipes: RecipeBook
  served: ServedModels
  registry: ModelRegistry
  inspector: ModelInspector
  kinds: KnownKinds
}

/** Nothing is looked at yet. `current` = the configuration that holds when it is asked. */
export function knowModels(
  { directories, downloads, models }: YardConfiguration,
  current: () => YardConfiguration,
  { settings }: Pick<Store, 'settings'>,
  clock: Clock,
): KnownModels {
  const artifacts = new ArtifactStore({ folder: directories.models, clock, transfer: downloads })
  const recipes = new RecipeBook(settings)
  const served = new ServedModels(settings, (id) => MODEL_ID.pattern.test(id))
  const registry = new ModelRegistry({
    specs: models,
    artifacts,
    defaultSpec: (id, source) => defaultSpec(current(), id, source),
    otherNames: (name) => recipes.find(name)?.from,
    served,
  })
  return {
    artifacts,
    recipes,
    served,
    registry,
    inspector: new ModelInspector(),
    kinds: new KnownKinds(settings),
  }
}

/** What a fetch for a load needs. */
export interface FetchParts {
  artifacts: ArtifactStore
  bus: EventBus
  engines: Pick<IsolatedEngines, 'byName'>
}

/**
 * A model's file for a load, fetched with its progress told. @returns its path; undefined for a model without files
 * @throws ModelyardError as {@link ArtifactStore.ensure}; `engine_missing` before anything is fetched
 */
export async function fetchArtifact(
  { artifacts, bus, engines }: FetchParts,
  spec: ModelSpec,
  options: Pick<EnsureOptions, 'signal' | 'admit'>,
): Promise<string | undefined> {
  const { source } = spec
  if (source === undefined) return undefined
  return await artifacts.ensure(source, {
    ...options,
    admitFormat: async (format) => requireEngine(engines.byName, spec, format),
    onProgress: ({ file, received, total, bytesPerSecond }) =>
      bus.emit('download-progressed', { source, file, received, total: total ?? null, bytesPerSecond }),
  })
}
