import { ModelyardError } from '../base/errors.ts'
import { asFields, asString } from '../dialects/fields.ts'
import type { ContextsRequest, YardPort } from '../dialects/yard-port.ts'
import type { ServerRoute } from './server-route.ts'

/** `GET /api/yard/contexts`, and `POST /api/yard/contexts/remove` with `{ids?, model?}`; an empty body stands for all. */
export function contextRoutes(
  port: YardPort,
  common: Pick<ServerRoute, 'shape' | 'scope' | 'anyContentType'>,
): ServerRoute[] {
  const needed = <Method>(method: Method | undefined): Method => {
    if (method !== undefined) return method
    throw new ModelyardError('unsupported', 'This yard parks no contexts.')
  }
  return [
    {
      ...common,
      method: 'GET',
      path: '/api/yard/contexts',
      body: 'none',
      handle: (exchange) => {
        const contexts = needed(port.listContexts?.bind(port))()
        exchange.send(200, 'application/json', JSON.stringify({ contexts }), { 'cache-control': 'no-store' })
      },
    },
    {
      ...common,
      method: 'POST',
      path: '/api/yard/contexts/remove',
      body: 'json',
      handle: (exchange, { body }) => {
        const removed = needed(port.removeContexts?.bind(port))(decodeRequest(body))
        exchange.send(200, 'application/json', JSON.stringify({ removed }))
      },
    },
  ]
}

function decodeRequest(body: unknown): ContextsRequest {
  const { ids, model } = asFields(body, 'body')
  return {
    ...(Array.isArray(ids) && { ids: ids.map((id, index) => asString(id, `ids[${index}]`)) }),
    ...(model !== undefined && model !== null && { model: asString(model, 'model') }),
  }
}
