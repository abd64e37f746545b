import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { ServerRoute } from './server-route.ts'

export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void

/** What the router hands over to; each takes the answer wholly into its own hands. */
export interface RouteTarget {
  serve(
    route: ServerRoute,
    request: IncomingMessage,
    response: ServerResponse,
    params: Record<string, string>,
  ): void
  preflight(request: IncomingMessage, response: ServerResponse): void
  unknown(request: IncomingMessage, response: ServerResponse): void
}

const ROUTER_OPTIONS = { ignoreDuplicateSlashes: true, ignoreTrailingSlash: true, maxParamLength: 4096 }

/**
 * Puts the routes on any fastify instance, the caller's own included (H7). Fastify only routes: bodies and answers are handled
 * by the exchange, so its parsers are taken off in this scope.
 */
export function registerRoutes(
  app: FastifyInstance,
  routes: readonly ServerRoute[],
  target: RouteTarget,
): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.path,
      handler: (request: FastifyRequest, reply: FastifyReply) => {
        reply.hijack()
        target.serve(route, request.raw, reply.raw, request.params as Record<string, string>)
      },
    })
  }
  app.options('*', (request, reply) => {
    reply.hijack()
    target.preflight(request.raw, reply.raw)
  })
}

/** A fastify instance of our own that never listens itself: a router for node:http. */
export async function createRouter(
  routes: readonly ServerRoute[],
  target: RouteTarget,
): Promise<NodeHandler> {
  const { fastify } = await import('fastify')
  let dispatch: NodeHandler | undefined
  const unknown = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack()
    target.unknown(request.raw, reply.raw)
  }
  const app = fastify({
    routerOptions: ROUTER_OPTIONS,
    serverFactory: (handler) => {
      dispatch = handler
      return createServer()
    },
    // Paths and content types that fastify itself finds broken.
    frameworkErrors: (_error, request, reply) => unknown(request, reply),
  })
  registerRoutes(app, routes, target)
  app.setNotFoundHandler(unknown)
  app.setErrorHandler((_error, request, reply) => unknown(request, reply))
  await app.ready()
  if (dispatch === undefined) throw new Error('fastify gave no handler')
  return dispatch
}
