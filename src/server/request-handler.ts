import type { IncomingMessage, ServerResponse } from 'node:http'
import { Deadlines } from '../base/deadlines.ts'
import type { Dialect, DialectRequest } from '../dialects/dialect.ts'
import { anthropicDialect } from '../dialects/anthropic/anthropic-dialect.ts'
import { ollamaDialect } from '../dialects/ollama/ollama-dialect.ts'
import { openAiDialect } from '../dialects/openai/openai-dialect.ts'
import { AccessPolicy } from './access-policy.ts'
import { controlRoutes } from './control-routes.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { dialectRoutes } from './dialect-routes.ts'
import { EventHistory } from './event-history.ts'
import { Exchange } from './exchange.ts'
import { fastifyPlugin, type FastifyScope, type NodeHandler } from './fastify-plugin.ts'
import { Listener, type ListenAddress } from './listener.ts'
import { OriginList } from './origin-list.ts'
import { checkContentType, parseJson, readBody } from './read-body.ts'
import { plainPath, queryOf, Router } from './router.ts'
import { DEFAULT_LIMITS, DEFAULT_ORIGINS, type ServerLimits, type ServerOptions } from './server-options.ts'
import type { ServerRoute } from './server-route.ts'
import { parseForm, requireForm } from './read-form.ts'
import { errorShapeOf, unknownRoute } from './unknown-route.ts'

/** All dialects the server speaks; the first one's errors are used outside all prefixes. */
const DIALECTS: readonly Dialect[] = [openAiDialect, anthropicDialect, ollamaDialect]

/** The yard over HTTP (H7). */
export interface RequestHandler {
  /** For node:http, in any server: `createServer(handler)`, `app.use('/prefix', handler)`. */
  handler: NodeHandler
  /** For the caller's own fastify: `app.register(plugin, { prefix })`. */
  plugin: (app: FastifyScope) => Promise<void>
  /** Listens on a server of its own; the address found is returned. */
  listen(address: ListenAddress): Promise<ListenAddress>
  /** Ends listening: no new requests, answers may end for `drain` milliseconds (5 s), then they are cut. May listen again. */
  close(options?: { drain?: number }): Promise<void>
}

/** Makes the server's inside; nothing listens yet and no framework is loaded. */
export function createRequestHandler(options: ServerOptions): RequestHandler {
  return new YardServer(options)
}

class YardServer implements RequestHandler {
  readonly #options: ServerOptions
  readonly #limits: ServerLimits
  readonly #origins: OriginList
  readonly #access: AccessPolicy
  readonly #history: EventHistory
  readonly #router: Router
  readonly #uploads: Deadlines
  readonly #listeners = new Set<Listener>()
  #closing = false

  constructor(options: ServerOptions) {
    const { port, clock } = options
    this.#options = options
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#origins = new OriginList(options.cors?.origins ?? DEFAULT_ORIGINS)
    const keys = options.keys ?? { inference: [], admin: [] }
    this.#access = new AccessPolicy(keys, this.#origins, options.allowedHosts ?? [])
    this.#history = new EventHistory(options.events)
    this.#uploads = new Deadlines(clock, this.#limits.bodyIdle)
    const silences = new Deadlines(clock, this.#limits.heartbeat)
    const context = { port, clock, limits: this.#limits, silences }
    this.#router = new Router([
      ...controlRoutes(options, this.#history, context),
      ...DIALECTS.flatMap((dialect) => dialectRoutes(dialect, context)),
    ])
  }

  readonly handler: NodeHandler = (request, response) => {
    const exchange = this.#exchange(request, response)
    this.#perform(exchange).catch((error: unknown) => exchange.refuse(error))
  }

  readonly plugin: RequestHandler['plugin'] = fastifyPlugin(this.handler)

  #exchange(request: IncomingMessage, response: ServerResponse): Exchange {
    const { clock, log } = this.#options
    const headers = corsHeaders(request, this.#origins)
    if (this.#closing) headers['connection'] = 'close'
    return new Exchange(request, response, { clock, log, headers })
  }

  async #perform(exchange: Exchange): Promise<void> {
    const { request } = exchange
    const { method = '', url = '' } = request
    if (exchange.gone) return
    if (method === 'OPTIONS') return this.#preflight(exchange)
    exchange.shape = errorShapeOf(plainPath(url), DIALECTS, request.headers)
    const { path, route, params } = this.#router.find(method, url, exchange.shape)
    if (route !== undefined) exchange.shape = route.shape
    this.#access.check(request, route?.scope ?? 'inference')
    if (route === undefined) {
      const { error, headers } = unknownRoute(method, path, this.#router)
      return exchange.refuse(error, headers)
    }
    const body = await this.#body(request, route)
    const { id, created, now } = exchange
    const query = queryOf(url)
    const input: DialectRequest = { params, headers: request.headers, body, id, created, query, now }
    return route.handle(exchange, input)
  }

  #preflight(exchange: Exchange): void {
    exchange.writeHead(204, preflightHeaders(exchange.request, this.#origins))
    exchange.response.end()
  }

  async #body(request: IncomingMessage, route: ServerRoute): Promise<unknown> {
    if (route.body === 'none') return undefined
    // A body that the host application has read already is taken as it parsed it.
    if (request.readableEnded) return (request as { body?: unknown }).body
    const { bodyBytes, jsonDepth } = this.#limits
    if (route.body === 'form') {
      const boundary = requireForm(request)
      return await parseForm(await readBody(request, bodyBytes, this.#uploads), boundary)
    }
    checkContentType(request, route.anyContentType)
    return parseJson(await readBody(request, bodyBytes, this.#uploads), jsonDepth)
  }

  async listen(address: ListenAddress): Promise<ListenAddress> {
    const listener = new Listener(this.handler, this.#options.clock)
    const bound = await listener.listen(address)
    this.#closing = false
    this.#listeners.add(listener)
    return bound
  }

  async close({ drain = 5000 }: { drain?: number } = {}): Promise<void> {
    this.#closing = true
    // Watchers of events never end by themselves.
    this.#history.endWatching()
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    await Promise.all(listeners.map((listener) => listener.close(drain)))
  }
}
