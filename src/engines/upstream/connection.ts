import type { Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import { beginningOf, refusalText } from '../bounded-body.ts'

/** Milliseconds to connect. */
const CONNECT_TIMEOUT = 5000
/** Bytes of a list of models, or of a document about routes. */
const LONGEST_DOCUMENT = 16 * 1024 * 1024

export interface Exchange {
  url: string
  key: string | undefined
  /** Sent as JSON; absent = GET. */
  body?: unknown
  signal: AbortSignal
  /** Longest silence before the answer's first byte, in milliseconds. */
  firstByteTimeout: number
}

export interface Reply {
  status: number
  retryAfter?: number
  body: AsyncIterable<Buffer>
  /** The beginning of a body as text: of a refusal no more is needed. */
  text: () => Promise<string>
  /** All of a document's body. @throws when it is longer than 16 MiB */
  whole: () => Promise<string>
}

/** HTTP to the endpoints, with kept connections. undici is loaded on first use: it costs 60 ms of a server's start. */
export class Connection {
  readonly #clock: Clock
  #dispatcher: Dispatcher | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @throws what undici throws when nobody answers; the signal's reason when it fires */
  async send({ url, key, body, signal, firstByteTimeout }: Exchange): Promise<Reply> {
    const { request } = await import('undici')
    const response = await request(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      dispatcher: await this.#agent(),
      headersTimeout: firstByteTimeout,
      bodyTimeout: firstByteTimeout,
      signal,
    })
    const { statusCode, headers, body: stream } = response
    const retryAfter = this.#retryAfter(headers['retry-after'])
    return {
      status: statusCode,
      ...(retryAfter !== undefined && { retryAfter }),
      body: stream,
      text: async () => refusalText(stream),
      whole: async () => {
        const bytes = await beginningOf(stream, LONGEST_DOCUMENT)
        if (bytes.length > LONGEST_DOCUMENT) throw new Error('what it sent is longer than 16 MiB')
        return bytes.toString('utf8')
      },
    }
  }

  async close(): Promise<void> {
    await this.#dispatcher?.destroy()
    this.#dispatcher = undefined
  }

  async #agent(): Promise<Dispatcher> {
    const { Agent } = await import('undici')
    this.#dispatcher ??= new Agent({ connect: { timeout: CONNECT_TIMEOUT } })
    return this.#dispatcher
  }

  /** Seconds or a date (RFC 9110, 10.2.3), as milliseconds from now. */
  #retryAfter(header: string | string[] | undefined): number | undefined {
    if (typeof header !== 'string') return undefined
    const seconds = Number(header)
    const milliseconds = Number.isFinite(seconds)
      ? seconds * 1000
      : Date.parse(header) - this.#clock.wallTime()
    return Number.isFinite(milliseconds) ? Math.max(0, milliseconds) : undefined
  }
}
