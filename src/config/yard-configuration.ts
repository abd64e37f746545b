import type { Engine } from '../engines/engine.ts'
import type { MemoryDomain } from '../host/memory.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import type { ConfigurationLayers } from './configuration-layers.ts'
import type { YardDirectories } from './directories.ts'

/** Bytes, or percent of what a domain has in all. */
export type MemoryShare = { bytes: number } | { percent: number }

export type MemoryShares = Partial<Record<MemoryDomain, MemoryShare>>

/**
 * A checked configuration: sizes in bytes, durations in milliseconds, paths absolute, defaults filled in. What depends on the machine
 * (budgets without a setting, headroom, threads) is absent and settled by `poolLimits`.
 */
export interface YardConfiguration {
  /** Absolute path of the file it came from; absent = there was none. */
  file?: string
  directories: YardDirectories
  memory: MemorySettings
  cpu: CpuSettings
  /** `exclusive`: one instance for each device (R14). */
  gpu: { exclusive: boolean }
  limits: LimitSettings
  swap: { patience: number; spareWorkers: number }
  drain: { timeout: number }
  contexts: ContextSettings
  downloads: DownloadSettings
  server: ServerSettings
  /** In the order of the file. */
  models: ModelSpec[]
  /** What all models have that an endpoint lists; the id is `prefix*`. Absent = there are none. */
  wildcards?: ModelSpec[]
  /** Engines of one's own that a file names or makes. They run in the server's process. */
  engines?: readonly Engine[]
  /** Milliseconds idle until unload, of models that do not say; −1 = never. */
  keepAlive: number
  /** Tokens per slot of models that do not say; absent = what they were trained for, at most 8,192. */
  context?: number
  /** Ids or aliases of models to load at the start. */
  preload: string[]
  /** What it was put together from; absent in configurations that were made by hand. */
  layers?: ConfigurationLayers
}

export interface MemorySettings {
  /** Soft budget per domain (R4). Absent = 75 % of memory, 90 % of a device. */
  budget: MemoryShares
  /** Limit of an operator's forced loads. Absent = 90 % of memory, 95 % of a device, never below the budget. */
  absolute: MemoryShares
  /** Bytes of the host that stay free (R5). Absent = 1.5 GiB, 0.5 GiB on hosts below 8 GiB. */
  headroom?: number
  /** Milliseconds to wait for memory to come free. */
  grace: number
  maxLargeModels: number
  /** Bytes below which a model is not counted as large. */
  smallModel: number
}

export interface CpuSettings {
  /** Threads of all active runs together (R17). Absent = the machine's cores. */
  threads?: number
  /** Switches the budget of threads off. */
  oversubscribe: boolean
}

/** Contexts on disk (R16). */
export interface ContextSettings {
  /** `worth`: what takes longer to compute again than to write and read. */
  parking: 'off' | 'worth' | 'always'
  /** Bytes for all models together. Absent = what the disk has room for: 10 % of the free space, at most 20 GiB. */
  budget?: number
  /** Bytes an hour that may be written after answers, so that a kill of the server loses none of their contexts; absent = none are. */
  answersPerHour?: number
}

export interface LimitSettings {
  concurrency: number
  queue: number
  queuePerModel: number
  /** Milliseconds a run may take in all; absent = no limit. */
  runTimeout?: number
}

/** Where models are fetched from (S2). */
export interface DownloadSettings {
  /** Address of the model hub or a mirror of it; absent = the public hub. */
  endpoint?: string
  /** Sent to that address and nowhere else. */
  token?: string
  /** Address of an HTTP proxy. */
  proxy?: string
}

export interface ServerSettings {
  host: string
  /** 0 = any free one. */
  port: number
  keys: { inference: string[]; admin: string[] }
  /** Browser origins that may use the server; absent = pages of this machine and desktop applications. */
  cors: { origins?: string[] }
  /** Host names, besides loopback ones, under which a server without keys may be called. */
  allowedHosts: string[]
  /** Most bytes of a request's body. */
  bodyLimit: number
  /** How long (milliseconds) and how many responses of the Responses API are kept; absent = none. */
  responses?: { age: number; count: number }
  /** Whether each request is told to those who watch requests. */
  log: boolean
}
