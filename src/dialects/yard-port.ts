import type { WarmRequest } from '../runs/library-request.ts'
import type { LoadWish } from '../runs/load-wish.ts'
import type { EngineCapabilities } from '../engines/engine.ts'
import type { ContextListing } from '../pool/context-listing.ts'
import type { LoadForecast } from '../pool/forecast.ts'
import type { EndpointFacts, ModelFacts, ModelPurpose } from '../models/model-facts.ts'
import type { ModelRecipe } from '../models/model-recipe.ts'
import type { ModelDefaults } from '../models/model-spec.ts'
import type { ResponseRecords } from '../runs/response-records.ts'
import type { Run, RunRequest } from '../runs/run.ts'
import type { Task } from '../tasks/task.ts'

/** A model as dialects list it. */
export interface ModelListing {
  id: string
  aliases: string[]
  /** What people call it; its id when it has no name of its own (M20). */
  name: string
  /** Listed before the others. */
  favourite: boolean
  /** Seconds since 1970 of the model's files (or of the yard's start). */
  created: number
  /** That of its copies; `missing` when its file is not there: then it is in no list that programs choose from. */
  state: string
  contextLength: number | null
  capabilities: EngineCapabilities | null
  /** By its files, read once; null = they are not here or cannot be read, or it has none and was not asked for anything yet. */
  purpose: ModelPurpose | null
  /** Name of what runs it; absent where only files that are not here could tell. */
  engine?: string
  /** How its weights are stored, as its files say it: `Q4_K_M`, `4 bits in groups of 64`, `bfloat16`. */
  quantization?: string
  /** Why it may not be usable, as far as that is known without asking for it: its endpoint does not list it any more, its file is not there. */
  problem?: string
  /** Id of a model before it that has the very same files. */
  sameFileAs?: string
}

/** A model with all that is known of it. */
export interface ModelDescription extends ModelListing {
  /** Milliseconds since 1970: when its files changed last; for models without files, when the yard began. */
  modifiedAt: number
  /** Bytes of all its files; 0 when they are not here, or it needs none. */
  bytes: number
  /** 64 hex digits that are others as soon as the content is another (BR-26). */
  digest: string
  /** Of its file; null when it is not here or cannot be read, and for engines without weights. */
  facts: ModelFacts | null
  /** Used where a request leaves a value out; a recipe's own included. */
  defaults: ModelDefaults
  /** Absent: the template decides. */
  system?: string
  /** What makes it another model than the one it stands on. */
  recipe?: ModelRecipe
  /** Of a model that another server has in memory: what is known of it there. */
  endpoint?: EndpointFacts
}

/** A model in memory, all its copies together. */
export interface ResidentModel {
  model: string
  /** Bytes that are booked for it, devices included. */
  bytes: number
  deviceBytes: number
  /** Tokens per slot. */
  contextLength: number
  /** Milliseconds since 1970; null = it stays. */
  expiresAt: number | null
}

/** How far a fetch is. */
export interface PullProgress {
  stage: 'waiting' | 'downloading' | 'verifying' | 'extracting'
  /** Name of the file. */
  file: string
  /** Promised sum of the file, hex; absent when nobody promised one. */
  sha256?: string
  received: number
  /** Null while unknown. */
  total: number | null
}

export interface PullOptions {
  signal: AbortSignal
  onProgress: (progress: PullProgress) => void
}

/** Which models there are, what they are, and how that is changed. Names are ids, aliases or what a recipe is called. */
export interface ModelCollection {
  /** @throws ModelyardError `model_not_found` with the nearest known names */
  describe(name: string): Promise<ModelDescription>
  /** All that {@link YardPort.listModels} lists. A model that cannot be read is described without facts. */
  describeAll(): Promise<ModelDescription[]>
  residents(): ResidentModel[]
  /**
   * Fetches a model's files; what is here already is left alone. Only what the configuration or the catalog names, or a repository of the
   * hub (`hf.co/org/repo:quant`). @throws ModelyardError `model_not_found`, `download_failed`, `checksum_mismatch`, `disk_full`, `aborted`
   */
  pull(name: string, options: PullOptions): Promise<ModelDescription>
  /**
   * Gives another name to a model, with defaults of its own; replaces one that was made before.
   * @throws ModelyardError `model_not_found`, `invalid_request` for a name that a model has already or none can have
   */
  make(name: string, recipe: ModelRecipe): void
  /**
   * Takes a made model back, or deletes the files of a fetched one after it left memory. @throws ModelyardError `model_not_found`;
   * `invalid_request` for files that were not fetched, and for those that other models stand on
   */
  remove(name: string): Promise<void>
}

/** Which parked contexts are meant: those named, or all of a model; neither = all. */
export interface ContextsRequest {
  ids?: readonly string[]
  model?: string
}

/** What evaluating a beginning ahead came to. */
export interface WarmResult {
  /** Id of the model. */
  model: string
  /** Tokens of the beginning, and how many of them did not have to be computed. */
  tokens: number
  cachedTokens: number
  /** Milliseconds that computing took. */
  took: number
  /** Whether it is on disk; else only in memory, as long as nobody needs the slot. */
  kept: boolean
}

export interface LoadModelOptions {
  /** Idle milliseconds until unload; 0 = at release, −1 = never. */
  keepAlive?: number
  signal?: AbortSignal
  /** May go beyond the budget, up to the absolute limit. */
  force?: boolean
  /** What the copy is to offer at least; a smaller one is loaded anew when its runs have ended (M3). */
  wish?: LoadWish
}

/** All that a dialect knows of the yard; `yard.ts` implements it. */
export interface YardPort {
  listModels(): Promise<ModelListing[]>
  /** By id or alias. @throws ModelyardError `model_not_found` with the nearest known names */
  findModel(name: string): Promise<ModelListing>
  /** Never throws: what is wrong with the request comes out of `run.parts`. */
  startRun(request: RunRequest): Run
  /** The place of a run's ticket in the queue, 1 being the next, and what it waits for. Undefined when it waits no more. */
  waitOf?(ticket: string): { place: number; reason: string } | undefined
  countTokens(model: string, task: Task, signal?: AbortSignal): Promise<number>
  /** A load without a run. @throws ModelyardError `invalid_request`, `model_too_large` for a wish that cannot be */
  loadModel(model: string, options?: LoadModelOptions): Promise<void>
  /** `force` cuts running answers at once. */
  unloadModel(model: string, options?: { force?: boolean }): Promise<void>
  /** Contexts on disk; absent in ports that park none. */
  listContexts?(): ContextListing[]
  /** @returns how many went. @throws ModelyardError `not_found`, `model_not_found`; then nothing goes */
  removeContexts?(request: ContextsRequest): number
  /** Evaluates a beginning ahead and keeps it; absent in ports that cannot. */
  warm?(request: WarmRequest): Promise<WarmResult>
  /** What loading the model would do now, without loading it; absent in ports that cannot say. */
  plan?(model: string): Promise<LoadForecast>
  /** Responses that are kept; absent where they are not, which is the default: they hold users' text. */
  readonly responses?: ResponseRecords | undefined
  /** Managing models; absent in ports that cannot. */
  readonly collection?: ModelCollection
}
