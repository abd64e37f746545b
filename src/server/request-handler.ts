import type { FastifyInstance } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Dialect, DialectRequest } from '../dialects/dialect.ts'
import { openAiDialect } from '../dialects/openai/openai-dialect.ts'
import { AccessPolicy } from './access-policy.ts'
import { controlRoutes } from './control-routes.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { dialectRoutes } from './dialect-routes.ts'
import { EventHistory } from './event-history.ts'
import { Exchange, type ErrorShape } from './exchange.ts'
import { createRouter, registerRoutes, type NodeHandler } from './http-router.ts'
import { Listener, type ListenAddress } from './listener.ts'
import { OriginList } from './origin-list.ts'
import { checkContentType, parseJson, readBody } from './read-body.ts'
import { DEFAULT_LIMITS, DEFAULT_ORIGINS, type ServerLimits, type ServerOptions } from './server-options.ts'
import type { ServerRoute } from './server-route.ts'
import { errorShapeOf, plainPath, unknownRoute } from './unknown-route.ts'

/** All dialects the server speaks; the first one's errors are used outside all prefixes. */
const DIALECTS: readonly Dialect[] = [openAiDialect]

/** The yard over HTTP (H7). */
export interface RequestHandler {
  /** For node:http, in any server: `createServer(handler)`, `app.use(handler)`. */
  handler: NodeHandler
  /** For the caller's own fastify: `app.register(plugin)`. */
  plugin: (app: FastifyInstance) => Promise<void>
  /** Listens on a server of its own; the address found is returned. */
  listen(address: ListenAddress): Promise<ListenAddress>
  /** Ends the listening server: no new requests, answers may end for `drain` milliseconds (5 s), then they are cut. */
  close(options?: { drain?: number }): Promise<void>
}

export function createRequestHandler(options: ServerOptions): RequestHandler {
  return new YardServer(options)
}

class YardServer implements RequestHandler {
  readonly #options: ServerOptions
  readonly #limits: ServerLimits
  readonly #origins: OriginList
  readonly #access: AccessPolicy
  readonly #history: EventHistory
  readonly #routes: ServerRoute[]
  #router: Promise<NodeHandler> | undefined
  #dispatch: NodeHandler | undefined
  #listener: Listener | undefined
  #closing = false

  constructor(options: ServerOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#origins = new OriginList(options.cors?.origins ?? DEFAULT_ORIGINS)
    this.#access = new AccessPolicy(
      options.keys ?? { inference: [], admin: [] },
      this.#origins,
      options.allowedHosts ?? [],
    )
    this.#history = new EventHistory(options.events)
    const context = { port: options.port, clock: options.clock, limits: this.#limits }
    this.#routes = [
      ...controlRoutes(options, this.#history, options.clock),
      ...DIALECTS.flatMap((dialect) => dialectRoutes(dialect, context)),
    ]
  }

  readonly handler: NodeHandler = (request, response) => {
    if (this.#dispatch !== undefined) return this.#dispatch(request, response)
    // Fastify is loaded with the first request, so that a library without a server never pays for it.
    this.#ready().then(
      (dispatch) => dispatch(request, response),
      (error: unknown) => this.#exchange(request, response, this.#shapeOf(request)).refuse(error),
    )
  }

  readonly plugin = async (app: FastifyInstance): Promise<void> => {
    registerRoutes(app, this.#routes, this)
  }

  async listen(address: ListenAddress): Promise<ListenAddress> {
    await this.#ready()
    this.#listener = new Listener(this.handler, this.#options.clock)
    return this.#listener.listen(address)
  }

  async close({ drain = 5000 }: { drain?: number } = {}): Promise<void> {
    this.#closing = true
    // Watchers of events never end by themselves.
    this.#history.close()
    await this.#listener?.close(drain)
  }

  async #ready(): Promise<NodeHandler> {
    this.#router ??= createRouter(this.#routes, this)
    this.#dispatch = await this.#router
    return this.#dispatch
  }

  #shapeOf(request: IncomingMessage): ErrorShape {
    return errorShapeOf(plainPath(request.url ?? ''), DIALECTS)
  }

  #exchange(request: IncomingMessage, response: ServerResponse, shape: ErrorShape): Exchange {
    const { clock, log } = this.#options
    const headers = corsHeaders(request, this.#origins)
    if (this.#closing) headers['connection'] = 'close'
    return new Exchange(request, response, { clock, log, shape, headers })
  }

  serve(
    route: ServerRoute,
    request: IncomingMessage,
    response: ServerResponse,
    params: Record<string, string>,
  ): void {
    const exchange = this.#exchange(request, response, route.shape)
    this.#perform(route, exchange, params).catch((error: unknown) => exchange.refuse(error))
  }

  async #perform(route: ServerRoute, exchange: Exchange, params: Record<string, string>): Promise<void> {
    this.#access.check(exchange.request, route.scope)
    const body = route.body === 'json' ? await this.#body(exchange.request, route) : undefined
    const { id, created } = exchange
    const request: DialectRequest = { params, headers: exchange.request.headers, body, id, created }
    await route.handle(exchange, request)
  }

  async #body(request: IncomingMessage, route: ServerRoute): Promise<unknown> {
    // A body that the host application has read already is taken as it parsed it.
    if (request.readableEnded) return (request as { body?: unknown }).body
    checkContentType(request, route.anyContentType)
    return parseJson(await readBody(request, this.#limits, this.#options.clock), this.#limits.jsonDepth)
  }

  preflight(request: IncomingMessage, response: ServerResponse): void {
    const exchange = this.#exchange(request, response, this.#shapeOf(request))
    exchange.writeHead(204, preflightHeaders(request, this.#origins))
    response.end()
  }

  unknown(request: IncomingMessage, response: ServerResponse): void {
    const exchange = this.#exchange(request, response, this.#shapeOf(request))
    try {
      this.#access.check(request, 'inference')
      const { error, headers } = unknownRoute(
        request.method ?? '',
        plainPath(request.url ?? ''),
        this.#routes,
      )
      exchange.refuse(error, headers)
    } catch (error) {
      exchange.refuse(error)
    }
  }
}
