import type { Engine, EngineCapabilities, LoadFailureClass, LoadPlan } from '../engines/engine.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import type { EmbeddingTask } from '../tasks/embedding-task.ts'

/** A chat and its answer at temperature 0. */
export interface KnownChat {
  task: ChatTask
  answer: string
}

/** What the contract needs to know of the engine that is tested, and of a model that it runs. */
export interface EngineContractSubject {
  engine: Engine
  /** What this model can do where that is less than its engine can. Default: the engine's. */
  capabilities?: EngineCapabilities
  /** A load of the model. `tasks` is what it can do at least; an engine that can do less ignores it. */
  plan(size: { slots: number; contextSize: number }): LoadPlan | Promise<LoadPlan>
  /** At least three, with different answers of more than ten characters. */
  chats: readonly KnownChat[]
  /** Generates for seconds if nobody stops it. */
  endless: ChatTask
  /** A chat whose prompt has at least so many tokens. */
  longPrompt: (tokens: number) => ChatTask
  /** A text of a user that looks like the marks of the prompt format, and more than one token as plain text. */
  controlText: string
  /** A chat whose answer has characters that are made of several tokens. */
  unicode?: KnownChat
  /** A chat that ends in the beginning of an answer, and the rest of that answer. */
  continuation?: KnownChat
  /** A model that embeds, and how long its vectors are. */
  embedding?: { plan(): LoadPlan | Promise<LoadPlan>; task: EmbeddingTask; dimensions: number }
  /** Present where the engine holds answers to formats, as its capabilities must say. */
  holdsFormats?: true
  /** What is left in the world after a load was given up; empty = nothing. Absent = cannot be told. */
  leftovers?: () => Promise<string[]>
  /** Present where each loaded model has an operating-system process of its own, which may be killed. */
  ownProcess?: true
  /** A load of a model whose file is damaged, or is not there any more, and why that fails. */
  corrupt?: { plan(): LoadPlan | Promise<LoadPlan>; failure: LoadFailureClass }
  /** Plans a model whose entry has an option `banana`, which this engine does not know. */
  foreignOption?: () => LoadPlan | Promise<LoadPlan>
  /** Cases that do not hold, by name, each with the reason. Only such as a capability of the engine says it cannot. */
  gaps?: Readonly<Record<string, string>>
}
