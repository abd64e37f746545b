import type { MeasuredFootprint } from '../../host/memory.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { FinishReason, Part } from '../../tasks/part.ts'
import type { Task, TaskKind } from '../../tasks/task.ts'
import type { DeclaredMemory } from '../declared-memory.ts'
import type { Availability, EngineCapabilities, LoadProgress } from '../engine.ts'
import type { OtherModels } from './other-models.ts'

/** What a model's entry in the configuration says of an engine of one's own. */
export interface CustomModel<Options> {
  /** What `options` made of the entry. */
  options: Options
  spec: ModelSpec
  /** Of the model's file; `format: 'none'` when it has none. */
  facts: ModelFacts
}

/** What a run has besides its task. */
export interface CustomRun {
  /** Index of the slot that this run holds alone. */
  slot: number
  /** Fires when the run is to end: the client left, the model is unloaded. Hand it to whatever waits. */
  signal: AbortSignal
  /** The models that `uses` names. */
  models: OtherModels
}

/** How a run ended, where that is not what was counted: as many tokens as there were pieces of text, ended by itself. */
export interface CustomEnd {
  finishReason?: FinishReason
  completionTokens?: number
  reasoningTokens?: number
}

/** Pieces of an answer: a text stands for a token of it. `started` is said for the engine. */
export type CustomPart = string | Exclude<Part, { type: 'started' }>

/** A loaded model. */
export interface CustomBody {
  run(task: Task, run: CustomRun): AsyncGenerator<CustomPart, CustomEnd | void, void>
  /** Exact tokens of the prompt. Default: its words, and one for each message. */
  countTokens?(task: Task): number | Promise<number>
  /** Proves that it works, before the first run. Default: nothing. */
  warmUp?(signal: AbortSignal): void | Promise<void>
  /** What it really holds. Default: what `memory` declared. */
  memory?(): MeasuredFootprint | Promise<MeasuredFootprint>
  /** Frees what it holds. Its runs have been aborted by then. */
  unload?(): void | Promise<void>
}

/** What there is to know of an engine of one's own; see `defineEngine`. */
export interface EngineDefinition<Options> {
  /** What models name it by: letters, digits, `-` and `_`. */
  name: string
  /** Default `1`. */
  version?: string
  tasks: readonly TaskKind[]
  /** What it can do beyond plain text; everything else is refused for it before anything is loaded. */
  capabilities?: Partial<Omit<EngineCapabilities, 'tasks'>>
  /** Whether it can be used here. Default: always. */
  detect?(): Availability | Promise<Availability>
  /** Checks what stands in the model's entry besides the common options; throws what is wrong with it. Default: taken as it is. */
  options?(written: Readonly<Record<string, unknown>>): Options
  /** Bytes of this process that the model will take, or bytes per domain. Default 0. */
  memory?(model: CustomModel<Options>): number | DeclaredMemory
  /** Tokens a slot can hold where the configuration does not say. Default 8,192. */
  contextSize?: number
  /** Other models of the yard that runs ask, by id or alias. */
  uses?(model: CustomModel<Options>): readonly string[]
  /** Anything it throws is a failed load; a `ModelyardError` is told as it is. */
  load(
    model: CustomModel<Options>,
    load: { signal: AbortSignal; onProgress: (progress: LoadProgress) => void },
  ): CustomBody | Promise<CustomBody>
}
