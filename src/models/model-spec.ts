/** What configuration says about one model, after validation: durations in milliseconds, sizes in bytes, defaults filled in. */
export interface ModelSpec {
  /** Letters, digits, `_ - . : /`. */
  id: string
  /** Where the weights come from: a path, `hf:org/repo[:quant][/file][@revision]`, an https URL, `pip:package/file` or a catalog name. Absent for engines without weights. */
  source?: string
  /** Name of the engine; absent = chosen by the file's format. */
  engine?: string
  /** Tokens per slot; absent = what the model was trained for, at most 8,192 (`engines` cap it further). */
  context?: number
  /** Used where `context` is absent, as far as the model was trained for so many. */
  defaultContext?: number
  slots: number
  minInstances: number
  maxInstances: number
  /** Idle milliseconds until unload; 0 = at release, −1 = never. */
  keepAlive: number
  pinned: boolean | 'soft'
  prepare: 'blocking' | 'background' | 'on-demand'
  isolation: 'worker' | 'none'
  device: DeviceOptions
  /** False: its contexts are never written to disk (R16). */
  parking?: boolean
  /** Most bytes its contexts may take on disk. */
  contextBudget?: number
  /** Beginnings of conversations and of prompts that are evaluated when a copy is ready, and kept (P7). */
  initialMessages?: { role: 'system' | 'user' | 'assistant'; content: string }[]
  prefix?: string
  aliases: string[]
  /** What listings call it instead of its id; one of its names (M20). */
  name?: string
  /** Listed before the others (M20). */
  favourite?: boolean
  /** False: as if it were not here (M17). */
  enabled?: boolean
  /** Used where a request leaves a value out. */
  defaults: ModelDefaults
  /** A text used when the request has no system message; `""` suppresses the template's own default text; absent = the template decides. */
  system?: string
  /** Options only the named engine knows (`scripted`: memory, loadTime, script); validated by that engine's own schema. */
  engineOptions: Record<string, unknown>
}

export interface DeviceOptions {
  /** `"auto"`, a backend (`cuda`, `vulkan`, `metal`) or a device name (P8). */
  gpu: boolean | string
  gpuLayers?: number
  /** Threads of one instance; absent = cores − 1, at least 1 (R17). */
  threads?: number
  memoryLock: boolean
}

/** Used where a request leaves a value out; see {@link Sampling} for their ranges. */
export interface ModelDefaults {
  temperature?: number
  topP?: number
  topK?: number
  minP?: number
  seed?: number
  maxTokens?: number
  repeatPenalty?: number
  presencePenalty?: number
  frequencyPenalty?: number
}

/** Whether a model goes by this name. */
export function isCalled(
  { id, aliases, name }: Pick<ModelSpec, 'id' | 'aliases' | 'name'>,
  called: string,
): boolean {
  return id === called || name === called || aliases.includes(called)
}
