import type { ModelListing } from '../dialects/yard-port.ts'
import type { PoolStatus } from '../pool/pool-status.ts'
import type { Message } from '../tasks/message.ts'
import type { FinishReason, Part } from '../tasks/part.ts'
import type { Sampling } from '../tasks/sampling.ts'
import type { EngineTimings, Usage } from '../tasks/usage.ts'

/** A question to a model, as `run` and `chat` ask it. */
export interface Question {
  model: string
  messages: Message[]
  sampling: Sampling
  maxTokens?: number
  signal: AbortSignal
}

/** How an answer ended. */
export interface AnswerSummary {
  /** Id of the model that answered. */
  model: string
  instance?: string
  finishReason: FinishReason
  usage: Usage
  timings?: EngineTimings
  /** Milliseconds in the queue, and of a load it waited for. */
  queueMs?: number
  loadMs?: number
}

export type Answer = AsyncGenerator<Part, AnswerSummary, void>

/** The yard's state as `/api/yard/state` prints it, as far as commands read it. */
export interface YardStateView extends Omit<PoolStatus, 'models'> {
  version: string
  pid: number
  home: string | null
  url?: string | null
  startedAt: number
  models: ModelListing[]
}

/** What commands want of a yard, wherever it runs (C0): in this process, or in a server of the same home. */
export interface YardClient extends AsyncDisposable {
  /** The server that is spoken to; undefined when the yard runs in this process. */
  readonly server: { pid: number; url: string } | undefined
  state(): Promise<YardStateView>
  list(): Promise<ModelListing[]>
  /** @throws ModelyardError `model_not_found` */
  show(model: string): Promise<Record<string, unknown>>
  plan(model: string): Promise<Record<string, unknown>>
  load(model: string, signal: AbortSignal): Promise<void>
  unload(model: string): Promise<void>
  /** Parts as they come; a stream that ends without its summary throws (R12). */
  ask(question: Question): Answer
}
