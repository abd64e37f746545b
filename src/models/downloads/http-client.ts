import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { abortError } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { isLoopback } from '../source.ts'
import { transferError } from './download-error.ts'
import { statusError } from './status-error.ts'

export interface HttpOptions {
  /** Where `token` may be sent: this origin and no other. */
  tokenOrigin: string
  token?: string
  /** Address of an HTTP proxy. */
  proxy?: string
  /** Milliseconds until a connection must stand. Default 3,000. */
  connectTimeout?: number
  /** Milliseconds without a byte after which a connection counts as dead. Default 30,000. */
  stallTimeout?: number
}

export interface HttpAnswer {
  status: number
  /** Of the last hop, names in lower case. */
  headers: Record<string, string | undefined>
  /** Headers of the first hop: the hub describes the file there and redirects to a store. */
  firstHeaders: Record<string, string | undefined>
  body: Readable
  /** Reads the rest away so that the connection can be used again. */
  discard(): Promise<void>
}

export interface GetOptions {
  headers?: Record<string, string>
  signal: AbortSignal
  /** Milliseconds until the answer must have begun; then the host counts as unreachable. */
  answerWithin?: number
}

const MOST_REDIRECTS = 5
/** Failures that happen before a connection stands. */
const CONNECT_FAILURES = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** GET requests with our rules: redirects followed without giving the token away, no downgrade to plain http, bounded waits. */
export class HttpClient {
  readonly #options: HttpOptions
  readonly #clock: Clock
  #dispatcher: Promise<Dispatcher> | undefined

  constructor(options: HttpOptions, clock: Clock) {
    this.#options = options
    this.#clock = clock
  }

  /**
   * Follows redirects to the answer. @throws ModelyardError `download_failed` for every status but 2xx and 416, and for failed
   * connections (details: retryable, unreachable); `aborted`
   */
  async get(address: URL, options: GetOptions): Promise<HttpAnswer> {
    let url = address
    let first: HttpAnswer | undefined
    for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
      const answer = await this.#getOnce(url, options)
      first ??= answer
      const location = redirectOf(answer)
      if (location === undefined) return this.#checked(url, { ...answer, firstHeaders: first.headers })
      await answer.discard()
      url = nextHop(url, location)
    }
    throw transferError(address, `redirected more than ${MOST_REDIRECTS} times`, { retryable: false })
  }

  async #checked(url: URL, answer: HttpAnswer): Promise<HttpAnswer> {
    if ((answer.status >= 200 && answer.status < 300) || answer.status === 416) return answer
    await answer.discard()
    throw statusError(url, answer.status, answer.headers['retry-after'], this.#clock.wallTime())
  }

  async #getOnce(url: URL, { headers, signal, answerWithin }: GetOptions): Promise<HttpAnswer> {
    if (signal.aborted) throw abortError(signal)
    const deadline = new AbortController()
    const timer =
      answerWithin === undefined ? undefined : this.#clock.setTimer(answerWithin, () => deadline.abort())
    try {
      return await this.#request(url, headers ?? {}, AbortSignal.any([signal, deadline.signal]))
    } catch (error) {
      if (signal.aborted) throw abortError(signal)
      if (deadline.signal.aborted) {
        const problem = `no answer within ${answerWithin} ms`
        throw transferError(url, problem, { retryable: true, unreachable: true, cause: error })
      }
      throw connectionError(url, error)
    } finally {
      timer?.cancel()
    }
  }

  async #request(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<HttpAnswer> {
    const stall = this.#options.stallTimeout ?? 30_000
    this.#dispatcher ??= this.#connect()
    const dispatcher = await this.#dispatcher
    const { request } = await import('undici')
    const answer = await request(url, {
      dispatcher,
      signal,
      headers: { ...this.#ownHeaders(url), ...headers },
      headersTimeout: stall,
      bodyTimeout: stall,
    })
    // Readers see a failure by reading; a body that is given up unread would end the process by its error event.
    answer.body.on('error', () => undefined)
    const plain = plainHeaders(answer.headers)
    return {
      status: answer.statusCode,
      headers: plain,
      firstHeaders: plain,
      body: answer.body,
      discard: async () => answer.body.dump({ limit: 64 * 1024 }).catch(() => undefined),
    }
  }

  #ownHeaders(url: URL): Record<string, string> {
    const { token, tokenOrigin } = this.#options
    return {
      'user-agent': 'modelyard',
      // Lengths and ranges count the bytes of the file, not of a compressed form.
      'accept-encoding': 'identity',
      ...(token !== undefined && url.origin === tokenOrigin ? { authorization: `Bearer ${token}` } : {}),
    }
  }

  /** Loaded on first use: undici costs 60 ms of start-up that a yard without downloads does not pay. */
  async #connect(): Promise<Dispatcher> {
    const { Agent, ProxyAgent } = await import('undici')
    const { proxy, connectTimeout = 3000 } = this.#options
    if (proxy !== undefined) return new ProxyAgent({ uri: proxy, connect: { timeout: connectTimeout } })
    return new Agent({ connect: { timeout: connectTimeout } })
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    const dispatcher = await this.#dispatcher
    this.#dispatcher = undefined
    await dispatcher?.destroy()
  }
}

function plainHeaders(
  headers: Record<string, string | string[] | undefined>,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
}

function redirectOf({ status, headers }: HttpAnswer): string | undefined {
  return [301, 302, 303, 307, 308].includes(status) ? headers['location'] : undefined
}

function nextHop(from: URL, location: string): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined
  if (to === undefined || !/^https?:$/.test(to.protocol)) {
    throw transferError(from, 'redirected to no address', { retryable: false })
  }
  if (to.protocol === 'http:' && !(isLoopback(from) && isLoopback(to))) {
    throw transferError(from, `redirected to plain http (${to.host}), which is refused`, { retryable: false })
  }
  return to
}

/** A connection that failed, or broke off while its body was read. */
export function connectionError(url: URL, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException
  const unreachable = code !== undefined && CONNECT_FAILURES.has(code)
  const problem = unreachable
    ? `cannot be reached (${code}). Is there a network? HF_ENDPOINT names a mirror of the hub, HTTPS_PROXY a proxy.`
    : `the connection failed: ${message}`
  return transferError(url, problem, { retryable: code !== 'ENOTFOUND', unreachable, cause: error })
}
