import type { IncomingMessage, ServerResponse } from 'node:http'

/** A request handler of node:http. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void

/** The part of a fastify 5 instance that the plugin uses; the yard itself does not depend on fastify. */
export interface FastifyScope {
  readonly prefix: string
  removeAllContentTypeParsers(): void
  addContentTypeParser(
    type: string,
    parser: (request: unknown, payload: unknown, done: (error: Error | null) => void) => void,
  ): unknown
  all(
    path: string,
    handler: (request: { raw: IncomingMessage }, reply: { raw: ServerResponse; hijack(): unknown }) => void,
  ): unknown
}

/** For `app.register(plugin, { prefix })`: all requests of that scope go to the handler, bodies unread (H7). */
export function fastifyPlugin(handler: NodeHandler): (app: FastifyScope) => Promise<void> {
  return async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
    app.all('/*', ({ raw }, reply) => {
      reply.hijack()
      raw.url = (raw.url ?? '').slice(app.prefix.length)
      handler(raw, reply.raw)
    })
  }
}
