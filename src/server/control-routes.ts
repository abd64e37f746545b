import type { Clock } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import type { DialectRequest } from '../dialects/dialect.ts'
import { decodeKeepAlive } from '../dialects/extensions.ts'
import { asFields, asString } from '../dialects/fields.ts'
import type { EventHistory } from './event-history.ts'
import { contextRoutes } from './context-routes.ts'
import type { ErrorShape, Exchange } from './exchange.ts'
import { sendEvents } from './send-events.ts'
import type { ServerOptions } from './server-options.ts'
import type { ServerRoute } from './server-route.ts'

/** Errors of the control API carry everything an operator may need. */
export const controlErrors: ErrorShape = {
  errorBody(
    { code, message, details, retryAfter }: ModelyardError,
    _status: number,
    requestId: string,
  ): string {
    return JSON.stringify({ error: { code, message, details, retryAfter: retryAfter ?? null, requestId } })
  },
}

function sendJson(exchange: Exchange, value: unknown, status = 200): void {
  exchange.send(status, 'application/json', JSON.stringify(value), { 'cache-control': 'no-store' })
}

/** `{model, keep_alive?}` of load and unload. */
function decodeTarget(body: unknown): { model: string; keepAlive?: number } {
  const fields = asFields(body, 'body')
  const model = asString(fields['model'], 'model')
  const keepAlive = fields['keep_alive']
  if (keepAlive === undefined || keepAlive === null) return { model }
  return { model, keepAlive: decodeKeepAlive(keepAlive, 'keep_alive') }
}

/** The control API, as far as it needs the port alone (H4). */
export function controlRoutes(options: ServerOptions, history: EventHistory, clock: Clock): ServerRoute[] {
  const { port, stateOf, health } = options
  const load = async (exchange: Exchange, { body }: DialectRequest): Promise<void> => {
    const { model, ...rest } = decodeTarget(body)
    await port.loadModel(model, { ...rest, signal: exchange.signal })
    sendJson(exchange, { model, loaded: true })
  }
  const unload = async (exchange: Exchange, { body }: DialectRequest): Promise<void> => {
    const { model } = decodeTarget(body)
    await port.unloadModel(model)
    sendJson(exchange, { model, loaded: false })
  }
  const plan = async (exchange: Exchange, { params }: DialectRequest): Promise<void> => {
    if (port.plan === undefined) throw new ModelyardError('unsupported', 'This yard makes no plans.')
    sendJson(exchange, await port.plan(params['*'] ?? ''))
  }
  const common = { shape: controlErrors, scope: 'admin', anyContentType: false } as const
  return [
    {
      ...common,
      method: 'GET',
      path: '/healthz',
      body: 'none',
      scope: 'open',
      // Alive is what this answers; whether requests are taken is a field of it and /readyz.
      handle: (exchange) => sendJson(exchange, { status: 'ok', ...health() }),
    },
    {
      ...common,
      method: 'GET',
      path: '/readyz',
      body: 'none',
      scope: 'open',
      handle: (exchange) => {
        const facts = health()
        sendJson(exchange, facts, facts.ready ? 200 : 503)
      },
    },
    {
      ...common,
      method: 'GET',
      path: '/api/yard/state',
      body: 'none',
      handle: (exchange) => sendJson(exchange, stateOf()),
    },
    {
      ...common,
      method: 'GET',
      path: '/api/yard/events',
      body: 'none',
      handle: (exchange) => sendEvents(exchange, history, clock),
    },
    ...contextRoutes(port, common),
    { ...common, method: 'GET', path: '/api/yard/plan/*', body: 'none', handle: plan },
    { ...common, method: 'POST', path: '/api/yard/load', body: 'json', handle: load },
    { ...common, method: 'POST', path: '/api/yard/unload', body: 'json', handle: unload },
  ]
}
