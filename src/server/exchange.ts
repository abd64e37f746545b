import type { IncomingMessage, ServerResponse } from 'node:http'
import { Cancellation } from '../base/cancellation.ts'
import type { Clock } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { discardBody, hasUnreadBody } from './discard-body.ts'
import { errorStatus, retryHeaders } from './error-status.ts'
import { createOrderedId } from '../base/ids.ts'
import type { AccessRecord } from './server-options.ts'

/** How errors look on a route. */
export type ErrorShape = Pick<Dialect, 'errorBody' | 'errorStatus' | 'requestIdHeader'>

const PLAIN_ERRORS: ErrorShape = {
  errorBody: (error) => JSON.stringify({ error: { message: error.message } }),
}

export type Headers = Record<string, string | number>

export interface ExchangeContext {
  clock: Clock
  /** Sent with whatever answer: CORS and, while closing, `connection: close`. */
  headers: Headers
  log: ((record: AccessRecord) => void) | undefined
}

const LEFT = new ModelyardError('aborted', 'The client closed the connection.')

/** One request and its answer. */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** 24 hex digits; `req_` + id is sent as `x-request-id`. */
  readonly id: string
  /** How an error is told; set as soon as the path is known. */
  shape: ErrorShape = PLAIN_ERRORS
  readonly #context: ExchangeContext
  readonly #startedAt: number
  /** Fires when the client leaves before the end (H5). */
  readonly leaving: Cancellation = new Cancellation()
  #error: ModelyardError | undefined

  constructor(request: IncomingMessage, response: ServerResponse, context: ExchangeContext) {
    this.request = request
    this.response = response
    this.#context = context
    this.id = createOrderedId('', context.clock.wallTime())
    this.#startedAt = context.clock.now()
    if (response.destroyed) this.#leave()
    response.on('close', this.#close)
    // A reset while the body comes in: whoever reads the body hears of it too.
    request.on('error', this.#leave)
  }

  /** Whether the client left before the end. */
  get gone(): boolean {
    return this.leaving.aborted
  }

  /** {@link leaving} for whoever needs an `AbortSignal`. */
  get signal(): AbortSignal {
    return this.leaving.signal
  }

  /** Seconds since 1970. */
  get created(): number {
    return Math.floor(this.#context.clock.wallTime() / 1000)
  }

  /** Milliseconds since 1970. */
  readonly now = (): number => this.#context.clock.wallTime()

  readonly #close = (): void => {
    if (!this.response.writableFinished) this.#leave()
    this.#context.log?.(this.#record())
  }

  #record(): AccessRecord {
    const { method = '', url = '' } = this.request
    const record: AccessRecord = {
      id: `req_${this.id}`,
      method,
      path: url.split('?', 1)[0] ?? '',
      status: this.gone ? 499 : this.response.statusCode,
      milliseconds: this.#context.clock.now() - this.#startedAt,
    }
    return this.#error === undefined ? record : { ...record, error: this.#error }
  }

  readonly #leave = (): void => this.leaving.abort(LEFT)

  /** Sends status and headers, and adds those that every answer carries. */
  writeHead(status: number, headers: Headers): void {
    const { headers: common } = this.#context
    for (const name in common) headers[name] ??= common[name] ?? ''
    headers['x-request-id'] = `req_${this.id}`
    if (this.shape.requestIdHeader !== undefined) headers[this.shape.requestIdHeader] = `req_${this.id}`
    this.response.writeHead(status, headers)
  }

  /** A whole answer. */
  send(status: number, contentType: string, body: string, headers: Headers = {}): void {
    if (this.gone) return
    headers['content-type'] = contentType
    headers['content-length'] = Buffer.byteLength(body)
    this.writeHead(status, headers)
    if (hasUnreadBody(this.request)) {
      this.response.write(body)
      discardBody(this.request, this.response, this.#context.clock)
    } else this.response.end(body)
  }

  /** An error before the first byte, in the shape of the route's API; after it, a cut. */
  refuse(thrown: unknown, headers: Headers = {}): void {
    const error = this.noteError(thrown)
    if (this.response.headersSent) {
      this.response.destroy()
      return
    }
    const status = this.statusOf(error)
    const body = this.shape.errorBody(error, status, `req_${this.id}`)
    const more = status === 401 ? { 'www-authenticate': 'Bearer realm="modelyard"' } : {}
    this.send(status, 'application/json', body, { ...retryHeaders(error, status), ...more, ...headers })
  }

  statusOf(error: ModelyardError): number {
    return this.shape.errorStatus?.(error) ?? errorStatus(error)
  }

  /** Keeps the error for the log. What is no ModelyardError is a bug: its words may hold anything and stay inside. */
  noteError(thrown: unknown): ModelyardError {
    const message = `Something went wrong inside the server; its log says what (req_${this.id}).`
    this.#error =
      thrown instanceof ModelyardError ? thrown : new ModelyardError('internal', message, { cause: thrown })
    return this.#error
  }
}
