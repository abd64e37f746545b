import type { Engine } from '../engines/engine.ts'
import type { ScriptedOptions } from '../engines/scripted/scripted-options.ts'
import type { StartOptions } from '../engines/upstream/start-options.ts'
import type { UpstreamOptions } from '../engines/upstream/upstream-options.ts'
import type { ModelDefaults } from '../models/model-spec.ts'

/** Bytes, or for example `"6GiB"`. */
export type Size = number | string
/** Seconds, or for example `"5m"`; where it makes sense a negative one means for ever. */
export type Duration = number | string

/** What a configuration file or `createYard({…})` may hold. Everything may be left out. */
export interface ConfigurationInput {
  /** For editors: where the JSON Schema of this file is. */
  $schema?: string
  models?: Record<string, ModelInput>
  /** Engines of one's own: objects (in a TypeScript file), or modules with one as their default export: a path, or a package's name. */
  engines?: readonly (Engine | string)[]
  memory?: {
    /** Soft budget: bytes, `"6GiB"`, `"75%"`, or one of these per domain (`{ram: …, "gpu:0": …}`). Default 75 % of memory, 90 % of each device. */
    budget?: Size | Record<string, Size>
    /** Limit of forced loads. Default 90 % of memory, 95 % of each device. */
    absolute?: Size | Record<string, Size>
    /** Bytes of the machine that always stay free. Default 1.5 GiB, 0.5 GiB on machines below 8 GiB. */
    headroom?: Size
    /** How long to wait for memory to come free before a load is refused. Default 10 s. */
    grace?: Duration
    /** Large models in memory at once. Default 3. */
    maxLargeModels?: number
    /** Models below this are not counted as large. Default 1 GiB. */
    smallModel?: Size
  }
  cpu?: {
    /** Threads of all active runs together. Default: the cores. */
    threads?: number
    /** True: no budget of threads (slow with llama.cpp). Default false. */
    oversubscribe?: boolean
  }
  limits?: {
    /** Runs at once over all models. Default 64. */
    concurrency?: number
    /** Requests that may wait in all. Default 512. */
    queue?: number
    /** Requests that may wait for one model. Default 128. */
    queuePerModel?: number
    /** Most time a request may take in all, waiting included; callers may ask for less. Default: no limit. */
    runTimeout?: Duration
  }
  /** How long younger requests may pass an older one that needs a swap. Default 5 s. */
  swap?: {
    patience?: Duration
    /** Processes that wait with llama.cpp started, so that the next load begins at once; each costs memory of the budget. Default 0. */
    spareWorkers?: number
  }
  /** How long a run may go on after its model was to be unloaded. Default 2 minutes. */
  drain?: { timeout?: Duration }
  /** Idle time until unload for models that do not say. Default 5 minutes; 0 = at release, −1 = never. */
  keepAlive?: Duration
  gpu?: {
    /** One instance for each device, whatever memory there is. Default false. */
    exclusive?: boolean
  }
  /** Conversations survive on disk when their slot, their model or the server goes. */
  contexts?: {
    /** True (default): what takes longer to compute again than to write and read. `"always"`: whatever there is. False: nothing. */
    parking?: boolean | 'always'
    /** Most bytes on disk for all models together. Default: 10 % of the free space, at most 20 GiB. */
    budget?: Size
    /** `"loss"` (default): written before they would be lost. `"answer"`: after each answer as well, so that a kill of the server costs none. */
    durability?: 'loss' | 'answer'
    /** Bytes an hour that may be written after answers. Default 8 GiB. */
    writesPerHour?: Size
  }
  /** Tokens per slot of models that do not say. Default: what each was trained for, at most 8,192. */
  context?: number
  /** Ids or aliases of models to load at the start: in the background, the largest first; a failure is a warning. */
  preload?: string | string[]
  directories?: {
    /** Where downloaded models are kept. */
    models?: string
    /** Where contexts are parked. */
    contexts?: string
  }
  /** Where models are fetched from. On the command line the environment's `HF_ENDPOINT`, `HF_TOKEN` and `HTTPS_PROXY` win over these. */
  downloads?: {
    /** Address of the model hub or a mirror of it. */
    endpoint?: string
    /** Sent to that address and nowhere else. */
    token?: string
    /** Address of an HTTP proxy. */
    proxy?: string
  }
  server?: {
    /** Default `127.0.0.1`. */
    host?: string
    /** Default 11435; 0 = any free one. */
    port?: number
    /** API keys: for everything, or for inference and the control API apart. Default: none are needed. */
    keys?: string | string[] | { inference?: string | string[]; admin?: string | string[] }
    cors?: {
      /** Browser origins that may use the server; `*` stands for any text. Default: pages of this machine. */
      origins?: string | string[]
    }
    /** Host names, besides loopback ones, under which a server without keys may be called. */
    allowedHosts?: string | string[]
    /** Most bytes of a request's body. Default 64 MiB. */
    bodyLimit?: Size
    /**
     * Responses of OpenAI's Responses API are kept, so that `previous_response_id` works. They hold what users wrote. Default false; true: 30
     * days, 10,000 of them.
     */
    responses?: boolean | { keep?: Duration; most?: number }
    /** True: `modelyard serve` writes a line per request, without any text of users. Default false. */
    log?: boolean
  }
}

/** A model: where it comes from, or that with options. Options of a named engine stand among the others. */
export type ModelInput =
  | string
  | ModelOptions
  | (ModelOptions & ScriptedInput)
  | (ModelOptions & UpstreamInput)
  | (ModelOptions & { engine: string } & Record<string, unknown>)

export type ScriptedInput = { engine: 'scripted' } & Omit<ScriptedOptions, 'memory'> & {
    /** Declared memory. */
    memory?: Size | Record<string, Size>
  }

/** What one process takes: bytes of this machine's memory, or bytes per domain. */
type ProcessMemory = Size | Record<string, Size>

/** A model that another server has in memory, reached through OpenAI's API. */
export type UpstreamInput = { engine: 'upstream' } & Omit<
  UpstreamOptions,
  'url' | 'memory' | 'firstByteTimeout' | 'wholeAnswerTimeout' | 'refresh' | 'start'
> & {
    /** Absent where `start` says how to get one. */
    url?: string | string[]
    start?: Omit<StartOptions, 'memory'> & { memory: ProcessMemory | ProcessMemory[] }
    memory?: Size
    firstByteTimeout?: Duration
    wholeAnswerTimeout?: Duration
    refresh?: Duration
  }

export interface ModelOptions {
  /** A path, `hf:org/repo[:quant][/file][@revision]`, an https URL, `pip:package/file` or a catalog name. */
  source?: string
  /** A path; stands for `source`. */
  file?: string
  /** Default: by the file's format. */
  engine?: string
  /** Tokens per slot. Default: what the model was trained for, at most 8,192. */
  context?: number
  /** Conversations that one instance holds at once. Default 4. */
  slots?: number
  /** Instances that are always loaded. Default 0. */
  minInstances?: number
  /** Default 1. */
  maxInstances?: number
  keepAlive?: Duration
  /** True: never evicted. `"soft"`: only when nothing else can be. Default false. */
  pinned?: boolean | 'soft'
  /** When the minimum of instances is loaded. Default `"on-demand"`. */
  prepare?: 'blocking' | 'background' | 'on-demand'
  /** `"worker"`: in a child process. Default `"worker"`; `"none"` for the engines `scripted` and `upstream`. */
  isolation?: 'worker' | 'none'
  device?: {
    /** `"auto"` (default), true, false, a backend (`cuda`, `vulkan`, `metal`) or a device. */
    gpu?: boolean | string
    gpuLayers?: number
    /** Default `"auto"`: cores − 1, at least 1. */
    threads?: number | 'auto'
    /** Keeps the weights from being paged out. Default false. */
    memoryLock?: boolean
  }
  /** False: its contexts are never written to disk. Default true. */
  parking?: boolean
  /** Most bytes its contexts may take on disk. Default: as many as all models together. */
  contextBudget?: Size
  /** The beginning of its conversations: evaluated ahead when it is loaded, and kept on disk. */
  initialMessages?: { role: 'system' | 'user' | 'assistant'; content: string }[]
  /** The same for prompts of completions. */
  prefix?: string
  aliases?: string | string[]
  /** What listings call it instead of its id; requests may use either. */
  name?: string
  /** Listed before the others. Default false. */
  favourite?: boolean
  /** False: hidden, as if it were not here. Default true. */
  enabled?: boolean
  /** Used where a request leaves a value out. */
  defaults?: ModelDefaults
  /** Used when a request has no system message; `""` suppresses the template's own text. */
  system?: string
}
