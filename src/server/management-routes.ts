import type { Clock } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import type { DialectRequest } from '../dialects/dialect.ts'
import { asFields, asString } from '../dialects/fields.ts'
import { controlErrors } from './control-errors.ts'
import type { ControlPort } from './control-port.ts'
import type { Exchange } from './exchange.ts'
import { describedBody, describedQuery } from './described-request.ts'
import { wholeNumber } from './query-fields.ts'
import { sendJson } from './send-json.ts'
import { sendLog } from './send-log.ts'
import type { ServerRoute } from './server-route.ts'

/** Milliseconds since 1970. */
const TIMES = { min: 0, max: Number.MAX_SAFE_INTEGER }

/** Settings, pins, runs, reasons, logs and metrics (H4, M2, M20, R19). */
export function managementRoutes(control: ControlPort, clock: Clock): ServerRoute[] {
  const common = { shape: controlErrors, scope: 'admin', anyContentType: false, body: 'none' } as const
  return [
    {
      ...common,
      method: 'GET',
      path: '/api/yard/settings',
      handle: (exchange) => sendJson(exchange, { settings: control.settings.list() }),
    },
    {
      ...common,
      method: 'PATCH',
      path: '/api/yard/settings',
      body: 'json',
      handle: async (exchange, { body }) =>
        sendJson(exchange, { settings: await control.settings.change(asFields(body, 'body')) }),
    },
    {
      ...common,
      method: 'GET',
      path: '/api/yard/models/*',
      handle: async (exchange, { params }) =>
        sendJson(exchange, await control.describeModel(params['*'] ?? '')),
    },
    {
      ...common,
      method: 'POST',
      path: '/api/yard/models/refresh',
      handle: async (exchange) => sendJson(exchange, { lists: await control.refreshModelLists() }),
    },
    {
      ...common,
      method: 'POST',
      path: '/api/yard/pin',
      body: 'json',
      handle: async (exchange, { body }) => pin(exchange, body, control),
    },
    {
      ...common,
      method: 'GET',
      path: '/api/yard/runs',
      handle: (exchange, { query }) => sendJson(exchange, { runs: control.runs(runQuery(query)) }),
    },
    {
      ...common,
      method: 'GET',
      path: '/api/yard/runs/*',
      handle: (exchange, { params }) => sendJson(exchange, findRun(params, control)),
    },
    {
      ...common,
      method: 'GET',
      path: '/api/yard/why/*',
      handle: async (exchange, { params }) => sendJson(exchange, await control.why(params['*'] ?? '')),
    },
    {
      ...common,
      method: 'GET',
      path: '/api/yard/logs',
      handle: (exchange, { query }) => sendLog(exchange, query, control, clock),
    },
    {
      ...common,
      method: 'GET',
      path: '/api/yard/telemetry',
      handle: (exchange, { query }) => {
        const { since } = describedQuery('GET /api/yard/telemetry', query)
        sendJson(exchange, control.telemetry(wholeNumber(since, 'since', { ...TIMES, fallback: 0 })))
      },
    },
    {
      ...common,
      method: 'GET',
      path: '/metrics',
      handle: async (exchange) =>
        exchange.send(200, 'text/plain; version=0.0.4; charset=utf-8', await control.metrics()),
    },
  ]
}

async function pin(exchange: Exchange, body: unknown, control: ControlPort): Promise<void> {
  const fields = describedBody('POST /api/yard/pin', body)
  const model = asString(fields['model'], 'model')
  const { pinned = true } = fields
  if (pinned !== true && pinned !== false && pinned !== 'soft') {
    const message = '\'pinned\' must be true, false or "soft".'
    throw new ModelyardError('invalid_request', message, { details: { param: 'pinned' } })
  }
  await control.pin(model, pinned)
  sendJson(exchange, { model, pinned })
}

function runQuery(query: string): Parameters<ControlPort['runs']>[0] {
  const { model, kind, outcome, since, until, limit } = describedQuery('GET /api/yard/runs', query)
  return {
    ...(model !== undefined && { model }),
    ...(kind !== undefined && { kind }),
    ...(outcome !== undefined && { outcome }),
    ...(since !== undefined && { since: wholeNumber(since, 'since', { ...TIMES, fallback: 0 }) }),
    ...(until !== undefined && { until: wholeNumber(until, 'until', { ...TIMES, fallback: 0 }) }),
    limit: wholeNumber(limit, 'limit', { min: 1, max: 10_000, fallback: 100 }),
  }
}

function findRun(params: DialectRequest['params'], control: ControlPort): unknown {
  const id = params['*'] ?? ''
  const run = control.run(id)
  if (run !== undefined) return run
  throw new ModelyardError('not_found', `There is no run or request "${id}"; the log keeps 30 days.`)
}
