import type { ModelyardError } from '../base/errors.ts'
import type { RunInfo, RunRequest } from '../runs/run.ts'
import type { Feature } from '../runs/unsupported-feature.ts'
import type { Part, Result } from '../tasks/part.ts'
import type { Task } from '../tasks/task.ts'
import type { YardPort } from './yard-port.ts'

/** One HTTP request as a dialect sees it: no sockets, no framework. */
export interface DialectRequest {
  /** Path parameters, percent-decoded; `*` holds the rest of the path. */
  params: Readonly<Record<string, string | undefined>>
  /** Names in lower case, as node:http gives them. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** The parsed JSON body; undefined on routes that take none. */
  body: unknown
  /** Unique for all practical purposes: 24 hex digits, without a prefix. */
  id: string
  /** Seconds since 1970 when the request came. */
  created: number
}

/** A whole answer that needs no run. */
export interface DialectAnswer {
  /** 200 unless said otherwise */
  status?: number
  contentType: string
  body: string
}

/** An action that asks the yard something and answers at once. */
export interface AnswerAction {
  type: 'answer'
  answer(port: YardPort, signal: AbortSignal): Promise<DialectAnswer>
}

/** The field of a request that asks for a feature, so that an error about it can name it. */
export type FeatureFields = Partial<Record<Feature, string>>

/** An action that runs tasks on a model; the encoder turns what comes out into bytes. */
export interface RunAction {
  type: 'run'
  /** As the client wrote it. */
  model: string
  /** Usually one; several for a list of prompts. They run one after the other. */
  tasks: Task[]
  options: Pick<RunRequest, 'priority' | 'keepAlive' | 'session'>
  encoder: RunEncoder
  featureFields: FeatureFields
}

export type DialectAction = AnswerAction | RunAction

/**
 * The text of one answer, made piece by piece; each method returns what is to be sent now, `''` for nothing. An encoder of a
 * plain answer returns everything from `finish`. Order of calls: for each task its parts, then `end`; after the last `finish`.
 * `fail` replaces whatever is missing, once, and never comes before the first byte: until then an error has its own status.
 */
export interface RunEncoder {
  readonly streaming: boolean
  readonly contentType: string
  /** What is sent into a silent stream each 10 s; absent = nothing. */
  readonly heartbeat?: string
  part(part: Part, task: number): string
  end(result: Result, task: number, info: RunInfo): string
  finish(): string
  /** The rest of a broken stream: the dialect's error event and its terminator (BR-09). */
  fail(error: ModelyardError, status: number): string
  /** Told when the headers went out before `info` was known, so that the facts go into the stream's end instead. */
  headersWentEarly?(): void
}

export interface DialectRoute {
  method: 'GET' | 'POST' | 'DELETE'
  /** Below each prefix of the dialect; `/*` at the end takes the rest, slashes included. */
  path: string
  /** Whether a JSON body is read first. */
  body: 'json' | 'none'
  /** @throws ModelyardError `invalid_request` and `unsupported` with `details.param` */
  decode(request: DialectRequest): DialectAction
}

/** A wire language: routes, decode, encode, errors. It knows neither the pool nor an engine nor HTTP. */
export interface Dialect {
  readonly name: string
  /** Where its routes are mounted. */
  readonly prefixes: readonly string[]
  readonly routes: readonly DialectRoute[]
  /** Content types other than JSON are taken for JSON too (Ollama's clients send none or a form's); false = 415. */
  readonly anyContentType: boolean
  /** The body of an error answer, a JSON text. */
  errorBody(error: ModelyardError, status: number, requestId: string): string
  /** A status that differs from the common table (Anthropic's 529). */
  errorStatus?(error: ModelyardError): number | undefined
}
