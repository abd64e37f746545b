import type { Dispatcher, Pool } from 'undici'
import { onAbort } from '../../base/abort.ts'
import type { StopSignal } from '../../base/cancellation.ts'
import type { Clock } from '../../base/clock.ts'
import { jsonText } from '../../base/json-text.ts'
import { beginningOf, refusalText } from '../bounded-body.ts'
import { FormBody } from './form-body.ts'
import { ReplyBody } from './reply-body.ts'

/** Milliseconds to connect. */
const CONNECT_TIMEOUT = 5000
/** Milliseconds that an endpoint may ask for; more, or what is no number of seconds at all, is a mistake there. */
const LONGEST_RETRY_AFTER = 24 * 3_600_000
/** Bytes of a list of models, or of a document about routes. */
const LONGEST_DOCUMENT = 16 * 1024 * 1024

export interface Exchange {
  url: string
  key: string | undefined
  /** A form, or what is sent as JSON; absent = GET. */
  body?: unknown
  /** Content types that are read. Default: JSON and streams of events. */
  accept?: string | undefined
  signal: StopSignal
  /** Longest silence before the answer's first byte, and before each next one, in milliseconds. */
  silence: number
  /** Called when all of an answer that has begun has come, or nothing more of it will. */
  onOver?: () => void
}

type AnswerHeaders = Pick<Reply, 'retryAfter' | 'contentType' | 'encoding'>

/** An answer that has begun. */
export class Reply {
  readonly status: number
  /** Milliseconds from now. */
  readonly retryAfter: number | undefined
  /** As it was sent; empty = it was not. */
  readonly contentType: string
  readonly body: ReplyBody
  /** What its body is compressed with; undefined = it is not. */
  readonly encoding: string | undefined

  constructor(status: number, { retryAfter, contentType, encoding }: AnswerHeaders, body: ReplyBody) {
    this.status = status
    this.retryAfter = retryAfter
    this.contentType = contentType
    this.encoding = encoding
    this.body = body
  }

  /** The beginning of a body as text: of a refusal no more is needed. */
  async text(): Promise<string> {
    return await refusalText(this.body)
  }

  /** All of a document's body. @throws when it is longer than 16 MiB */
  async whole(): Promise<string> {
    const bytes = await beginningOf(this.body, LONGEST_DOCUMENT)
    if (bytes.length > LONGEST_DOCUMENT) throw new Error('what it sent is longer than 16 MiB')
    return bytes.toString('utf8')
  }
}

/** Where an address leads. */
interface Target {
  pool: Pool
  path: string
}

/**
 * HTTP to the endpoints, with kept connections. undici is loaded on first use: it costs 60 ms of a server's start. Its answers are taken as they are
 * dispatched, not as the streams that its `request` makes of them.
 */
export class Connection {
  readonly #clock: Clock
  readonly #pools = new Map<string, Pool>()
  /** By address, of which there are a few for each endpoint. */
  readonly #targets = new Map<string, Target>()
  #isClosed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @throws what undici throws when nobody answers; the signal's reason when it fires */
  async send(exchange: Exchange): Promise<Reply> {
    const { url, signal, silence: timeout, onOver = () => undefined } = exchange
    const { pool, path } = this.#targets.get(url) ?? (await this.#target(url))
    return await new Promise((resolve, reject) => {
      const answer = new DispatchedAnswer(signal, this.#clock, { resolve, reject, onOver })
      pool.dispatch({ path, headersTimeout: timeout, bodyTimeout: timeout, ...requestOf(exchange) }, answer)
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()))
  }

  async #target(url: string): Promise<Target> {
    const { Pool } = await import('undici')
    const { origin, pathname, search } = new URL(url)
    const pool = this.#pools.get(origin) ?? new Pool(origin, { connect: { timeout: CONNECT_TIMEOUT } })
    this.#pools.set(origin, pool)
    const target = { pool, path: pathname + search }
    this.#targets.set(url, target)
    if (this.#isClosed) await pool.destroy()
    return target
  }
}

function requestOf({
  body,
  key,
  accept = 'application/json, text/event-stream',
}: Exchange): Pick<Dispatcher.DispatchOptions, 'method' | 'headers' | 'body'> {
  const headers: Record<string, string> = { accept, 'accept-encoding': 'identity' }
  if (key !== undefined) headers['authorization'] = `Bearer ${key}`
  if (body === undefined) return { method: 'GET', headers }
  const isForm = body instanceof FormBody
  headers['content-type'] = isForm ? body.contentType : 'application/json'
  return { method: 'POST', headers, body: isForm ? body.bytes : jsonText(body) }
}

interface Outcome {
  resolve: (reply: Reply) => void
  reject: (error: Error) => void
  onOver: () => void
}

/** One answer as undici tells of it. */
class DispatchedAnswer implements Dispatcher.DispatchHandler {
  readonly #signal: StopSignal
  readonly #clock: Clock
  readonly #outcome: Outcome
  readonly #unlisten: () => void
  #controller: Dispatcher.DispatchController | undefined
  #body: ReplyBody | undefined

  constructor(signal: StopSignal, clock: Clock, outcome: Outcome) {
    this.#signal = signal
    this.#clock = clock
    this.#outcome = outcome
    this.#unlisten = onAbort(signal, () => this.#abort())
  }

  #abort(): void {
    const reason = this.#signal.reason as Error
    this.#controller?.abort(reason)
    this.onResponseError(undefined, reason)
  }

  /** Also when it is sent again because the connection was closed before it could be. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#signal.aborted) controller.abort(this.#signal.reason as Error)
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // Hints on the way, before the answer itself.
    if (status < 200) return
    this.#body = new ReplyBody(controller, this.#outcome.onOver)
    const contentType = String(headers['content-type'] ?? '')
    const retryAfter = this.#retryAfter(headers['retry-after'])
    const encoding = encodingOf(headers['content-encoding'])
    this.#outcome.resolve(new Reply(status, { retryAfter, contentType, encoding }, this.#body))
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#body?.add(chunk)
  }

  onResponseEnd(): void {
    this.#unlisten()
    this.#body?.end()
  }

  onResponseError(_: unknown, error: Error): void {
    this.#unlisten()
    if (this.#body === undefined) this.#outcome.reject(error)
    else this.#body.end(error)
  }

  /** Seconds or a date (RFC 9110, 10.2.3), as milliseconds from now. */
  #retryAfter(header: string | string[] | undefined): number | undefined {
    if (typeof header !== 'string') return undefined
    const seconds = Number(header)
    const milliseconds = Number.isFinite(seconds)
      ? seconds * 1000
      : Date.parse(header) - this.#clock.wallTime()
    return Number.isFinite(milliseconds)
      ? Math.min(LONGEST_RETRY_AFTER, Math.max(0, milliseconds))
      : undefined
  }
}

function encodingOf(header: string | string[] | undefined): string | undefined {
  const encoding = String(header ?? '').toLowerCase()
  return encoding === '' || encoding === 'identity' ? undefined : encoding
}
