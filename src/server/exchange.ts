import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import { createId } from '../base/ids.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { errorStatus, retryHeaders } from './error-status.ts'
import type { AccessRecord } from './server-options.ts'
import { discardBody } from './discard-body.ts'

/** How errors look on a route. */
export type ErrorShape = Pick<Dialect, 'errorBody' | 'errorStatus'>

export interface ExchangeContext {
  clock: Clock
  /** Sent with whatever answer: CORS and, while closing, `connection: close`. */
  headers: Record<string, string>
  shape: ErrorShape
  log: ((record: AccessRecord) => void) | undefined
}

/** One request and its answer. Its signal fires when the client leaves before the end (H5). */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** 24 hex digits; `req_` + id is sent as `x-request-id`. */
  readonly id: string = createId('')
  readonly #context: ExchangeContext
  readonly #startedAt: number
  readonly #gone = new AbortController()
  #error: ModelyardError | undefined

  constructor(request: IncomingMessage, response: ServerResponse, context: ExchangeContext) {
    this.request = request
    this.response = response
    this.#context = context
    this.#startedAt = context.clock.now()
    if (response.closed || response.destroyed) this.#leave()
    else response.once('close', () => this.#close())
    // A reset while the body comes in: whoever reads the body hears of it too.
    request.on('error', () => this.#leave())
  }

  get signal(): AbortSignal {
    return this.#gone.signal
  }

  /** Seconds since 1970. */
  get created(): number {
    return Math.floor(this.#context.clock.wallTime() / 1000)
  }

  #close(): void {
    if (!this.response.writableFinished) this.#leave()
    if (this.#context.log === undefined) return
    const status = this.#gone.signal.aborted ? 499 : this.response.statusCode
    const record: AccessRecord = {
      id: `req_${this.id}`,
      method: this.request.method ?? '',
      path: (this.request.url ?? '').split('?', 1)[0] ?? '',
      status,
      milliseconds: this.#context.clock.now() - this.#startedAt,
    }
    this.#context.log(this.#error === undefined ? record : { ...record, error: this.#error })
  }

  #leave(): void {
    if (this.#gone.signal.aborted) return
    this.#gone.abort(new ModelyardError('aborted', 'The client closed the connection.'))
  }

  /** Sends status and headers, with those that every answer carries. */
  writeHead(status: number, headers: Record<string, string | number>): void {
    this.response.writeHead(status, {
      ...this.#context.headers,
      'x-request-id': `req_${this.id}`,
      ...headers,
    })
  }

  /** A whole answer. */
  send(
    status: number,
    contentType: string,
    body: string,
    headers: Record<string, string | number> = {},
  ): void {
    if (this.signal.aborted) return
    const length = Buffer.byteLength(body)
    this.writeHead(status, { 'content-type': contentType, 'content-length': length, ...headers })
    if (this.request.complete) this.response.end(body)
    else {
      this.response.write(body)
      discardBody(this.request, this.response, this.#context.clock)
    }
  }

  /** An error before the first byte, in the shape of the route's API. */
  refuse(thrown: unknown, headers: Record<string, string> = {}): void {
    const error = this.noteError(thrown)
    const status = this.statusOf(error)
    const body = this.#context.shape.errorBody(error, status, `req_${this.id}`)
    const more = status === 401 ? { 'www-authenticate': 'Bearer realm="modelyard"' } : {}
    this.send(status, 'application/json', body, { ...retryHeaders(error, status), ...more, ...headers })
  }

  statusOf(error: ModelyardError): number {
    return this.#context.shape.errorStatus?.(error) ?? errorStatus(error)
  }

  /** Keeps the error for the log. What is no ModelyardError is a bug: its words may hold anything and stay inside. */
  noteError(thrown: unknown): ModelyardError {
    this.#error =
      thrown instanceof ModelyardError
        ? thrown
        : new ModelyardError(
            'internal',
            `Something went wrong inside the server; its log says what (req_${this.id}).`,
            {
              cause: thrown,
            },
          )
    return this.#error
  }
}
