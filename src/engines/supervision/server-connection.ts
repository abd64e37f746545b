import { jsonText } from '../../base/json-text.ts'
import type { Dispatcher, Pool } from 'undici'
import { ModelyardError } from '../../base/errors.ts'
import { refusalText } from '../bounded-body.ts'

/** The server closes connections that are idle for 5 s; ours are closed a little earlier, so that none is lost on its way. */
const KEEP_ALIVE = 4000
const MOST_CONNECTIONS = 512

/** Failures of a connection that was kept: the server closes it after 100 requests, and the request may not have arrived. */
const STALE = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/** What the server said instead of an answer. */
export interface ServerRefusal {
  status: number
  /** The `error` object of the answer, or nothing; what says no more than a text has that as its message. */
  error: { message?: string; type?: string; n_prompt_tokens?: number; n_ctx?: number }
}

/** A refusal on its way to somebody who can say it in our words. */
export class RefusedByServer extends Error {
  readonly refusal: ServerRefusal

  constructor(refusal: ServerRefusal) {
    super(refusal.error.message ?? `HTTP ${refusal.status}`)
    this.refusal = refusal
  }
}

/** HTTP to the server in a worker of ours, with kept connections. undici is loaded on first use: it costs 60 ms of a server's start. */
export class ServerConnection {
  readonly #origin: string
  readonly #headers: Record<string, string>
  readonly #healthPath: string
  #pool: Promise<Pool> | undefined
  #closed = false

  /** @param healthPath a route that answers at once whatever is computed */
  constructor(port: number, key: string, healthPath = '/health') {
    this.#healthPath = healthPath
    this.#origin = `http://127.0.0.1:${port}`
    this.#headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  }

  /** The body of an answer of status 200, as it comes. @throws RefusedByServer, and what undici throws when the server is gone */
  async open(path: string, body: unknown, signal: AbortSignal): Promise<Dispatcher.ResponseData['body']> {
    const response = await this.#send(path, jsonText(body), signal)
    if (response.statusCode === 200) return response.body
    throw new RefusedByServer({ status: response.statusCode, error: await errorOf(response.body) })
  }

  /** A whole JSON answer of any status that means success. */
  async json(path: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    const response = await this.#send(path, body === undefined ? undefined : jsonText(body), signal)
    if (response.statusCode >= 200 && response.statusCode < 300) return await response.body.json()
    throw new RefusedByServer({ status: response.statusCode, error: await errorOf(response.body) })
  }

  /** Resolves when the server answers. */
  async health(signal?: AbortSignal): Promise<void> {
    await this.json(this.#healthPath, undefined, signal)
  }

  async close(): Promise<void> {
    this.#closed = true
    await (await this.#pool)?.destroy()
  }

  /** Sent once more, on a new connection, when a kept one turns out to be closed before anything of an answer came. */
  async #send(
    path: string,
    body: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Dispatcher.ResponseData> {
    try {
      return await this.#sendOnce(path, body, signal)
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (signal?.aborted === true || this.#closed || !STALE.has(code)) throw error
      this.#renew()
      return await this.#sendOnce(path, body, signal)
    }
  }

  /** Requests under way end on the connections that they have. */
  #renew(): void {
    const old = this.#pool
    this.#pool = openPool(this.#origin)
    void old?.then(async (pool) => await pool.close()).catch(() => undefined)
  }

  async #sendOnce(
    path: string,
    body: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Dispatcher.ResponseData> {
    this.#pool ??= openPool(this.#origin)
    const pool = await this.#pool
    if (this.#closed) throw new ModelyardError('worker_exited', 'The connection to the worker is closed.')
    return await pool.request({
      path,
      method: body === undefined ? 'GET' : 'POST',
      headers: this.#headers,
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal }),
    })
  }
}

/** A prompt may be evaluated for minutes before the first byte: deadlines are the watch's affair. */
async function openPool(origin: string): Promise<Pool> {
  const { Pool } = await import('undici')
  return new Pool(origin, {
    connections: MOST_CONNECTIONS,
    keepAliveTimeout: KEEP_ALIVE,
    keepAliveMaxTimeout: KEEP_ALIVE,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

async function errorOf(body: AsyncIterable<Buffer>): Promise<ServerRefusal['error']> {
  const text = await refusalText(body)
  try {
    const { error } = JSON.parse(text) as { error?: ServerRefusal['error'] | string }
    return typeof error === 'string' ? { message: error } : (error ?? {})
  } catch {
    return {}
  }
}
