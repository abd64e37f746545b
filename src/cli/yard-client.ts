import type { ContextListing } from '../pool/context-listing.ts'
import type {
  ContextsRequest,
  LoadModelOptions,
  ModelDescription,
  ModelListing,
  WarmResult,
} from '../dialects/yard-port.ts'
import type { WarmRequest } from '../runs/library-request.ts'
import type { ServedList } from '../models/served-models.ts'
import type { YardEvent } from '../events/event-map.ts'
import type { LoadForecast } from '../pool/forecast.ts'
import type { Explanation, SettingStatus } from '../server/control-port.ts'
import type { Message } from '../tasks/message.ts'
import type { FinishReason, Part } from '../tasks/part.ts'
import type { Sampling } from '../tasks/sampling.ts'
import type { AudioFormat } from '../tasks/speech-task.ts'
import type { EngineTimings, Usage } from '../tasks/usage.ts'
import type { YardState } from '../yard-state.ts'

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

/** A sound file to be heard, as `transcribe` asks it. */
export interface TranscriptionWishes {
  model: string
  audio: Uint8Array
  /** Its name, for a server. */
  file: string
  language?: string
  translate: boolean
  signal: AbortSignal
}

/** What was heard; times in seconds. */
export interface TranscriptText {
  text: string
  segments: { start: number; end: number; text: string }[]
}

export interface SpeechWishes {
  model: string
  text: string
  format: AudioFormat
  voice?: string
  speed?: number
  signal: AbortSignal
}

/** What is to be seen, as `draw` asks it. */
export interface ImageWishes {
  model: string
  prompt: string
  /** `WIDTHxHEIGHT` */
  size?: string
  steps?: number
  seed?: number
  guidance?: number
  negativePrompt?: string
  signal: AbortSignal
}

export type Answer = AsyncGenerator<Part, AnswerSummary, void>

export interface LogWishes {
  /** Last lines. */
  lines: number
  follow: boolean
  signal: AbortSignal
}

export type LoadCall = Pick<LoadModelOptions, 'force' | 'wish'> & { signal: AbortSignal }

/** What commands want of a yard, wherever it runs (C0): in this process, or in a server of the same home. */
export interface YardClient extends AsyncDisposable {
  /** The server that is spoken to; undefined when the yard runs in this process. */
  readonly server: { pid: number; url: string } | undefined
  state(): Promise<YardState>
  list(): Promise<ModelListing[]>
  /** @throws ModelyardError `model_not_found` */
  show(model: string): Promise<ModelListing & Pick<ModelDescription, 'endpoint'>>
  /** Asks endpoints which models they have, for the entries that stand for many. */
  refreshModelLists(): Promise<ServedList[]>
  plan(model: string): Promise<LoadForecast>
  load(model: string, options: LoadCall): Promise<void>
  /** A model, or one of its instances. `force` cuts its running answers at once. */
  unload(model: string, options?: { force?: boolean }): Promise<void>
  /** Evaluates a beginning ahead and keeps it. */
  warm(request: WarmRequest): Promise<WarmResult>
  contexts(): Promise<ContextListing[]>
  /** @returns how many went. @throws ModelyardError `not_found` when one of those named is not there, `model_not_found` */
  removeContexts(request: ContextsRequest): Promise<number>
  settings(): Promise<SettingStatus[]>
  /** All or none; null takes a change back. @returns all settings as they are then */
  changeSettings(changes: Readonly<Record<string, unknown>>): Promise<SettingStatus[]>
  pin(model: string, pinned: boolean | 'soft'): Promise<void>
  /** Of a run, a request or a model. @throws ModelyardError `not_found`, `model_not_found` */
  why(name: string): Promise<Explanation>
  /** A worker's output in pieces, without an end when it is followed. Only of a server. */
  logs(instanceOrModel: string, options: LogWishes): AsyncIterable<string>
  /** Everything that happens from now on. Only of a server. */
  events(signal: AbortSignal): AsyncIterable<YardEvent>
  /** A sound file as text. */
  transcribe(request: TranscriptionWishes): Promise<TranscriptText>
  /** A text as a sound file, whole. */
  speak(request: SpeechWishes): Promise<Uint8Array>
  /** A text as a picture: a whole PNG file. */
  draw(request: ImageWishes): Promise<Uint8Array>
  /** Parts as they come; a stream that ends without its summary throws (R12). */
  ask(question: Question): Answer
}
