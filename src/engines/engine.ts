import type { StopSignal } from '../base/cancellation.ts'
import { ModelyardError } from '../base/errors.ts'
import type { Footprint, HostReading, MeasuredFootprint, MemoryDomain } from '../host/memory.ts'
import type { ModelFacts } from '../models/model-facts.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import type { ServedModel } from '../models/served-models.ts'
import type { PartStream } from '../tasks/part.ts'
import type { Task, TaskKind } from '../tasks/task.ts'

/** Whether an engine can be used here, and if not, the one thing to do about it. */
export type Availability =
  | { available: true; version: string; details?: Record<string, unknown> }
  | { available: false; reason: string; remedy: string }

/**
 * What an engine can do beyond plain text, each false unless it says otherwise. A task that needs what is false is refused with
 * `unsupported` before anything is loaded.
 */
export interface EngineCapabilities {
  tasks: readonly TaskKind[]
  tools: boolean
  /** JSON object, JSON Schema and GBNF are each a form of it. */
  structuredOutput: boolean
  logprobs: boolean
  reasoning: boolean
  /** In messages, and as what is classified. */
  images: boolean
  audio: boolean
  /** A last assistant message is continued. */
  prefill: boolean
  infill: boolean
  /** Prompts and embeddings given as token ids. */
  tokenInput: boolean
  echo: boolean
  /** Log-probabilities of a prompt that is sent back. */
  promptLogprobs: boolean
  logitBias: boolean
  grammar: boolean
  /** Classification with labels of the asker's own. */
  zeroShot: boolean
  /** Images as what embeddings are made of. */
  imageEmbedding: boolean
  /**
   * What is aborted may be computed to its end unseen, because its program cannot be stopped: who asked is let go at once, the next run
   * waits for that end. Not asked for by tasks; it is there to be known.
   */
  finishesAborted: boolean
  /** Prompts are rendered, counted and found too long here, before anything is evaluated. This and what follows is not asked for by tasks, either. */
  tokenizes: boolean
  /** An answer that a stop string ended says which. */
  namesStops: boolean
  /** What a slot keeps of earlier runs is what the pool says, and what is counted as used again was. */
  keepsPrefixes: boolean
  /** Contexts of slots can be written to files and read back. */
  parks: boolean
}

/** What an engine says that writes plain text and nothing else: to be spread, then told what it can (`{...NO_CAPABILITIES, tasks: ['chat']}`). */
export const NO_CAPABILITIES: EngineCapabilities = {
  tasks: [],
  tools: false,
  structuredOutput: false,
  logprobs: false,
  reasoning: false,
  images: false,
  audio: false,
  prefill: false,
  infill: false,
  tokenInput: false,
  echo: false,
  promptLogprobs: false,
  logitBias: false,
  grammar: false,
  zeroShot: false,
  imageEmbedding: false,
  finishesAborted: false,
  tokenizes: false,
  namesStops: false,
  keepsPrefixes: false,
  parks: false,
}

/** Facts about this machine that a plan depends on. */
export interface HostFacts {
  cores: number
  memory: HostReading
  /** Bytes that all models together may take, per domain. Contexts that nobody asked for are made to fit; absent = not known, no limit. */
  budget?: Partial<Record<MemoryDomain, number>>
  /** What of that is not promised to anybody; tells one of several devices from the other. Absent = not known. */
  free?: Partial<Record<MemoryDomain, number>>
}

/** File pages that several instances map, of weights or of a program: charged once per key (R4). */
export interface SharedPages {
  key: string
  domain: MemoryDomain
  bytes: number
}

/**
 * How a model will be loaded. Plain data: it crosses process borders. Two plans with one `key` are the same load.
 */
export interface LoadPlan {
  engine: string
  model: string
  /** Content of everything that decides what is loaded: a hash. Estimates are corrected by what was measured under this key. */
  key: string
  /** Tokens each slot can hold, prompt and answer together. */
  contextSize: number
  slots: number
  /** Threads in use while at least one slot runs (R17); 0 for engines that use none of ours. */
  threads: number
  /** Threads that evaluating a prompt may take while no other model computes (R17, see `LoadedModel.shareCores`). Default: `threads`. */
  promptThreads?: number
  /** Estimate, weights included. */
  footprint: Footprint
  /**
   * Bytes of `footprint` that are taken only when the copy works; all else lies in memory once it is ready, so that a measurement tells
   * it better than the estimate. Default: the context.
   */
  takenLater?: Partial<Record<MemoryDomain, number>>
  /** The part of `footprint` that is mapped from a file, if any. */
  sharedWeights?: SharedPages
  /**
   * Bytes of `footprint.ram` that are pages of the program and its libraries, the same for all that this engine starts. Default 0: they
   * count as each one's own until a measurement tells them apart.
   */
  programBytes?: number
  /** Weights in bytes: what the load deadline scales with (M10). */
  loadBytes: number
  capabilities: EngineCapabilities
  /**
   * Other models of the yard, by id or alias, that a run of this one asks for. Memory and places are planned together, so that nesting
   * never ends in a deadlock; what can never fit together is refused at once (P14).
   */
  uses?: readonly string[]
  spec: ModelSpec
  facts: ModelFacts
}

/** A run that holds a slot while it asks for other models. */
export interface AskingRun {
  readonly instance: string
}

export interface RunOptions {
  /** Index of the slot the lease gave, 0 ≤ slot < plan.slots. */
  slot: number
  /** Fingerprint blocks the pool expects to be reusable. 0 = the slot is cleared first; otherwise the engine keeps exactly the tokens that agree (R3, F1). */
  keptPrefix: number
  signal: AbortSignal
  /** What `signal` fires with, for models that say `takesStop`. */
  stop?: StopSignal
  /** Nothing is read before the end: an engine for which that is cheaper may have the answer made in one piece. Default false. */
  isWhole?: boolean
  /** Present when the plan says `uses`: to be handed on as `within` with every call of another model (P14). */
  within?: AskingRun
}

/** For models that say `takesStop`: also where they are run without one. */
export function stopOf(options: Pick<RunOptions, 'signal' | 'stop'>): StopSignal {
  return options.stop ?? options.signal
}

/** How a loaded model ended on its own or on request. */
export interface ExitReport {
  /** True when `unload()` was asked for. */
  expected: boolean
  reason: string
  /** Last log lines of a worker, newest last, at most 40. */
  logTail: string[]
}

/** What was written of a slot. */
export interface SavedSlot {
  tokens: number
  /** Of the file, once it is whole. */
  bytes: number
  /** Resolves when the file is whole, rejects when it will not be; absent = it is. The slot is free before that. */
  sealed?: Promise<void>
}

/** A model in memory. Its methods may be called at any time; after the exit they reject with `worker_exited`. */
export interface LoadedModel {
  readonly plan: LoadPlan
  /** Its runs go by `stop` of their options; `signal` is made for those alone that ask for it, which spares each run 5 µs. */
  readonly takesStop?: true
  /** Operating-system process that holds it; absent when in-process. */
  readonly pid?: number
  /** File that keeps what its process prints; absent when in-process, or when it cannot be kept. */
  readonly logPath?: string | undefined
  /**
   * Runs a task on a slot; the caller holds that slot alone. Throws before the first part for everything that is wrong with the task.
   * An aborted signal ends it within 250 ms, in prefill too, by throwing the signal's reason; the slot is usable at once.
   */
  run(task: Task, options: RunOptions): PartStream
  /** Exact prompt tokens of the task as this model would see it. */
  countTokens(task: Task, signal?: AbortSignal): Promise<number>
  /** One real token (or vector): only then is the model ready (R12). */
  warmUp(signal: AbortSignal): Promise<void>
  /** Told when another model begins to compute beside this one, and when none does any more: only alone may prompts take `plan.promptThreads` (R17). Until it is told, it is alone. */
  shareCores?(isAlone: boolean): void
  /** What it really holds now. */
  memory(): Promise<MeasuredFootprint>
  /** Resolves when the engine's loop is alive. */
  ping(signal?: AbortSignal): Promise<void>
  /** Monotonic milliseconds of the last token or prefill movement, on the pool's clock; undefined before the first. */
  readonly lastProgress?: number
  /**
   * All that must be the same for a saved slot to be read back: content of weights, tokenizer, template and adapters, type of the cache, the
   * engine's build. Absent = slots cannot be saved.
   */
  readonly stateIdentity?: string
  /** Whether a slot can be written while a run answers in it, between two of its tokens; else the writing waits for the run's end. Default false. */
  readonly savesWhileAnswering?: boolean
  /** Writes the slot's context to a file. When it resolves, the slot may be used again. */
  saveSlot?(slot: number, path: string): Promise<SavedSlot>
  /** Whether a file is whole and of this model, for whoever wants it read and can have it checked before the slot is free. Absent = `restoreSlot` checks. */
  checkSlotFile?(path: string): Promise<boolean>
  /**
   * Reads it back; false when the file is damaged or does not fit this model in any way. The slot is empty then. `isWhole`: what
   * `checkSlotFile` said of it a moment ago; absent = it is checked first.
   */
  restoreSlot?(slot: number, path: string, isWhole?: boolean): Promise<boolean>
  /** Settles, never rejects, when the model is gone from memory and its process (if any) has exited. */
  readonly exited: Promise<ExitReport>
  /** Graceful first, then by force; resolves when `exited` has. Calling it twice is harmless. */
  unload(): Promise<void>
}

export type LoadProgress =
  | { stage: 'starting' }
  /** 0…1; may never reach 1 */
  | { stage: 'loading'; fraction: number }
  | { stage: 'preparing' }

/** What a run asks of another model of the yard that its plan names in `uses` (P14). */
export interface ModelQuestion {
  model: string
  task: Task
  signal: AbortSignal
  within: AskingRun
}

export type AskModel = (question: ModelQuestion) => PartStream

export interface LoadOptions {
  signal: AbortSignal
  onProgress: (progress: LoadProgress) => void
  /** Asks another model of the yard. Absent where the plan uses none, and where there is no yard. */
  ask?: AskModel
}

/** Why a load failed (R11). Carried in `ModelyardError.details.failure`. */
export type LoadFailureClass =
  | 'out_of_memory'
  | 'bad_file'
  | 'bad_option'
  | 'missing_engine'
  | 'port'
  | 'timeout'
  | 'crash'
  | 'aborted'

/** A load that failed before there was a worker with log lines. `message` says what to do about it. */
export function loadFailed(failure: LoadFailureClass, message: string, cause?: unknown): ModelyardError {
  return new ModelyardError('model_load_failed', message, { details: { failure, logTail: [] }, cause })
}

export function loadAborted(signal: AbortSignal): ModelyardError {
  return new ModelyardError('aborted', 'The load was given up.', { cause: signal.reason })
}

/** Which models somebody else serves. */
export interface ModelList {
  models: ServedModel[]
  /** Milliseconds until the list should be asked for again; 0 = never by itself. */
  refreshAfter: number
}

/** A kind of runtime. One folder each; `pool/` knows nothing of engines but this file. */
export interface Engine {
  readonly name: string
  readonly capabilities: EngineCapabilities
  /** Whether it can be used here; for a model (`spec`) that may name a program of its own, whether that is there. */
  detect(spec?: ModelSpec): Promise<Availability>
  /** Pure. @throws ModelyardError `unsupported`, `config_invalid` for what this engine cannot load */
  plan(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan
  /**
   * What is known of a model without files here, of whoever has it in memory; what cannot be asked is a fact, too. Absent = there is nothing
   * to know. Never throws but for its signal.
   */
  inspect?(spec: ModelSpec, signal: AbortSignal): Promise<ModelFacts>
  /**
   * What a model's files are that only this engine reads, for models that name it. Absent = they are judged by their headers as all others.
   * @throws ModelyardError `model_file_invalid`, `model_not_found`
   */
  inspectFiles?(spec: ModelSpec, path: string): Promise<ModelFacts>
  /** Which models there are where the spec points to, for entries that stand for many. @throws ModelyardError when nobody answers */
  listModels?(spec: ModelSpec, signal: AbortSignal): Promise<ModelList>
  /** Imports what is heavy ahead of a load, so that a spare worker is ready (R18). Not awaited; a failure is told by the load. */
  prepare?(): Promise<void>
  /** @throws ModelyardError `model_load_failed` (details.failure), `engine_missing`, `aborted`; nothing stays in memory then */
  load(plan: LoadPlan, options: LoadOptions): Promise<LoadedModel>
}
