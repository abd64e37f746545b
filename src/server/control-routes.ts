import { ModelyardError } from '../base/errors.ts'
import type { DialectRequest, RunAction } from '../dialects/dialect.ts'
import { decodeKeepAlive } from '../dialects/extensions.ts'
import { asString, optionalNumber, type Fields } from '../dialects/fields.ts'
import type { LoadModelOptions } from '../dialects/yard-port.ts'
import type { LoadWish } from '../runs/load-wish.ts'
import type { EventHistory } from './event-history.ts'
import { describedBody } from './described-request.ts'
import { answerRun, type RunContext } from './answer-run.ts'
import { decodeCaption } from './caption-route.ts'
import { decodeClassify } from './classify-route.ts'
import { decodeDetect } from './detect-route.ts'
import { contextRoutes } from './context-routes.ts'
import { controlErrors } from './control-errors.ts'
import type { Exchange } from './exchange.ts'
import { managementRoutes } from './management-routes.ts'
import { openApiDocument } from './openapi/openapi-document.ts'
import { sendJson } from './send-json.ts'
import { sendEvents } from './send-events.ts'
import type { ServerOptions } from './server-options.ts'
import type { ServerRoute } from './server-route.ts'

/** `{model, keep_alive?, force?, context?, slots?}` of load, `{model, force?}` of unload. */
function decodeTarget(route: string, body: unknown): LoadModelOptions & { model: string } {
  const fields = describedBody(route, body)
  const { keep_alive: keepAlive, force } = fields
  const wish = decodeWish(fields)
  return {
    model: asString(fields['model'], 'model'),
    ...(isSaid(keepAlive) && { keepAlive: decodeKeepAlive(keepAlive, 'keep_alive') }),
    ...(isSaid(force) && { force: flagOf(force) }),
    ...(wish !== undefined && { wish }),
  }
}

function decodeWish(fields: Fields): LoadWish | undefined {
  const context = optionalNumber(fields, 'context', { least: 1, integer: true })
  const slots = optionalNumber(fields, 'slots', { least: 1, integer: true })
  if (context === undefined && slots === undefined) return undefined
  return { ...(context !== undefined && { context }), ...(slots !== undefined && { slots }) }
}

function flagOf(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw new ModelyardError('invalid_request', "'force' must be true or false.", {
    details: { param: 'force' },
  })
}

/** The yard's own; the server does not know which program it is part of. */
function versionOf(state: unknown): string {
  return (state as { version?: string }).version ?? '0'
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** The control API, as far as it needs the port alone (H4). */
export function controlRoutes(
  options: ServerOptions,
  history: EventHistory,
  context: RunContext,
): ServerRoute[] {
  const { clock } = context
  const { port, stateOf, health, examine = async () => health() } = options
  const load = async (exchange: Exchange, { body }: DialectRequest): Promise<void> => {
    const { model, ...rest } = decodeTarget('POST /api/yard/load', body)
    await port.loadModel(model, { ...rest, signal: exchange.signal })
    sendJson(exchange, { model, loaded: true })
  }
  const unload = async (exchange: Exchange, { body }: DialectRequest): Promise<void> => {
    const { model, force = false } = decodeTarget('POST /api/yard/unload', body)
    await port.unloadModel(model, { force })
    sendJson(exchange, { model, loaded: false })
  }
  const plan = async (exchange: Exchange, { params }: DialectRequest): Promise<void> => {
    if (port.plan === undefined) throw new ModelyardError('unsupported', 'This yard makes no plans.')
    sendJson(exchange, await port.plan(params['*'] ?? ''))
  }
  const common = { shape: controlErrors, scope: 'admin', anyContentType: false } as const
  const inference = (path: string, decode: (request: DialectRequest) => RunAction): ServerRoute => ({
    ...common,
    method: 'POST',
    path,
    body: 'json',
    scope: 'inference',
    handle: async (exchange, request) => answerRun(exchange, decode(request), context),
  })
  const routes: ServerRoute[] = [
    {
      ...common,
      method: 'GET',
      path: '/api/yard/openapi.json',
      body: 'none',
      handle: (exchange) => sendJson(exchange, openApiDocument(routes, versionOf(stateOf()))),
    },
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
      handle: async (exchange) => {
        const facts = await examine()
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
    inference('/api/yard/classify', decodeClassify),
    inference('/api/yard/detect', decodeDetect),
    inference('/api/yard/caption', decodeCaption),
    ...(options.control === undefined ? [] : managementRoutes(options.control, clock)),
  ]
  return routes
}
