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
  /** The parsed JSON body, or a form's fields; undefined on routes that take none. */
  body: unknown
  /** Unique for all practical purposes: 24 hex digits, without a prefix. */
  id: string
  /** Seconds since 1970 when the request came. */
  created: number
  /** What follows the `?` of the address, still encoded; empty when nothing does. */
  query: string
  /** Milliseconds since 1970 at the moment of the call. */
  now: () => number
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
  options: Pick<RunRequest, 'priority' | 'keepAlive' | 'session' | 'timeout' | 'cache' | 'wish'>
  encoder: RunEncoder
  featureFields: FeatureFields
  /** What a field of the task is called in the request, where errors name another. */
  nameField?: (param: string) => string
  /**
   * What of the request depends on the model: asked once, before the first run, and free to change `tasks`. @throws what is wrong with
   * the request
   */
  prepare?: (port: YardPort, signal: AbortSignal) => Promise<void>
}

/** An action whose steps are told as they come, such as a download. */
export interface ProgressAction {
  type: 'progress'
  contentType: string
  /** The answer in pieces. What is thrown before the first one has a status of its own, as with any other action. */
  pieces(port: YardPort, signal: AbortSignal): AsyncIterable<string>
  /** The end of an answer that broke off. */
  fail(error: ModelyardError, status: number): string
}

export type DialectAction = AnswerAction | RunAction | ProgressAction

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
  part(part: Part, task: number): string | Uint8Array
  end(result: Result, task: number, info: RunInfo): string
  finish(): string
  /** The rest of a broken stream: the dialect's error event and its terminator (BR-09). */
  fail(error: ModelyardError, status: number): string
  /** True where a stream has no place for an error: what breaks off is cut, which clients see. */
  readonly cutsOnFailure?: boolean
  /** Told when the headers went out before `info` was known, so that the facts go into the stream's end instead. */
  headersWentEarly?(): void
}

export interface DialectRoute {
  method: 'GET' | 'HEAD' | 'POST' | 'DELETE'
  /** Below each prefix of the dialect; `/*` at the end takes the rest, slashes included. */
  path: string
  /** True: the path is the whole one, not below the prefixes. */
  atRoot?: boolean
  /** Which key it needs where keys are set; `inference` unless said otherwise. */
  scope?: 'inference' | 'admin'
  /** What is read first: JSON, a form with files (`multipart/form-data`; see `FormFile`), or nothing. */
  body: 'json' | 'form' | 'none'
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
  /** Whether a request below a prefix that other dialects have too is meant for this one. Nobody's requests are the first dialect's. */
  claims?(path: string, headers: DialectRequest['headers']): boolean
  /** Another name under which the request's id is sent, besides `x-request-id`. */
  readonly requestIdHeader?: string
}
