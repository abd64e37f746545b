import type { Clock } from './base/clock.ts'
import type { ModelListing } from './dialects/yard-port.ts'
import type { KnownKinds } from './models/known-kinds.ts'
import type { ModelRegistry } from './models/registry.ts'
import type { ModelSpec } from './models/model-spec.ts'
import type { ServedList, ServedModels } from './models/served-models.ts'
import type { ModelPoolStatus, PoolStatus } from './pool/pool-status.ts'
import type { Pool } from './pool/pool.ts'
import type { ActivityStatus, LiveRuns } from './runs/live-runs.ts'
import { engineOfFormat } from './runs/engine-of-format.ts'
import type { ModelPreparer } from './runs/model-preparer.ts'
import type { ModelRecord } from './store/model-record-table.ts'
import { VERSION } from './version.ts'

/** What `/api/yard/state` prints, and `ps`, `list` and `plan` parts of it. Plain JSON; never a word of a user's text (F10). */
export interface YardState extends Omit<PoolStatus, 'models'> {
  version: string
  pid: number
  home: string | null
  /** Where the yard listens; null for a library without a server. */
  url: string | null
  /** Milliseconds since 1970. */
  startedAt: number
  /** Where history goes; not the disk when that takes nothing. */
  store: 'ok' | 'not writable' | 'in memory only'
  /** Models that endpoints list, for each `prefix*` of the configuration. */
  modelLists: ServedList[]
  /** Runs that have not ended, in the order in which they were begun. */
  activity: ActivityStatus[]
  models: (ModelListing & Partial<Omit<ModelPoolStatus, 'state'>> & { record: ModelRecord | null })[]
}

/** What listings and states are made of. */
export interface StateSources {
  registry: ModelRegistry
  served: Pick<ServedModels, 'lists'>
  kinds: Pick<KnownKinds, 'peek'>
  preparer: ModelPreparer
  pool: Pool
  live: LiveRuns
  clock: Clock
  /** Milliseconds since 1970. */
  startedAt: number
  homeDirectory: string | null
  store: { readonly durable: boolean; readonly writable: boolean; readonly models: ModelRecords }
}

/** What is remembered of models over restarts (M15). */
export interface ModelRecords {
  read(model: string): ModelRecord | undefined
}

/** A model as dialects and `list` show it: configuration, what is known of its file, and its state in the pool. */
export function modelListing(
  spec: ModelSpec,
  sources: StateSources,
  pool: PoolStatus = sources.pool.status(),
): ModelListing {
  const known = sources.preparer.peek(spec.id)
  const problem = sources.registry.problemOf(spec.id)
  const { missing, sameFileAs, path } = sources.registry.placeOf(spec.id)
  const kind = path === undefined ? undefined : sources.kinds.peek(path)
  const engine = known?.plan.engine ?? spec.engine ?? (kind && engineOfFormat(kind))
  return {
    id: spec.id,
    aliases: spec.aliases,
    name: spec.name ?? spec.id,
    favourite: spec.favourite ?? false,
    created: Math.floor(sources.startedAt / 1000),
    state: missing === undefined ? (pool.models[spec.id]?.state ?? 'unloaded') : 'missing',
    contextLength: known?.plan.contextSize ?? spec.context ?? null,
    capabilities: known?.capabilities ?? null,
    purpose: known?.plan.facts.purpose ?? kind?.purpose ?? null,
    ...(engine !== undefined && { engine }),
    ...(kind?.quantization !== undefined && { quantization: kind.quantization }),
    ...(problem !== undefined && { problem }),
    ...(sameFileAs !== undefined && { sameFileAs }),
  }
}

export function yardState(sources: StateSources, url: string | null): YardState {
  const pool = sources.pool.status()
  return {
    version: VERSION,
    pid: process.pid,
    home: sources.homeDirectory,
    url,
    startedAt: sources.startedAt,
    ...pool,
    store: storeState(sources.store),
    modelLists: sources.served.lists(),
    activity: sources.live.list(),
    models: sources.registry.list().map((spec) => ({
      ...modelListing(spec, sources, pool),
      ...pool.models[spec.id],
      record: sources.store.models.read(spec.id) ?? null,
    })),
  }
}

/** BR-25: a disk that takes nothing is no reason not to serve; it is said everywhere. */
export function storeState({
  durable,
  writable,
}: Pick<StateSources['store'], 'durable' | 'writable'>): YardState['store'] {
  if (!durable) return 'in memory only'
  return writable ? 'ok' : 'not writable'
}
