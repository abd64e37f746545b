import { ModelyardError } from '../base/errors.ts'
import { asArray, asString } from '../dialects/fields.ts'
import type { Message, Tool } from '../tasks/message.ts'
import type { WarmRequest } from '../runs/library-request.ts'
import type { ContextsRequest, YardPort } from '../dialects/yard-port.ts'
import { describedBody } from './described-request.ts'
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
    {
      ...common,
      method: 'POST',
      path: '/api/yard/warm',
      body: 'json',
      handle: async (exchange, { body }) => {
        const warmed = await needed(port.warm?.bind(port))({ ...decodeWarm(body), signal: exchange.signal })
        exchange.send(200, 'application/json', JSON.stringify(warmed))
      },
    },
  ]
}

/** Texts and messages are checked by the run itself. */
function decodeWarm(body: unknown): WarmRequest {
  const { model, messages, tools, prompt } = describedBody('POST /api/yard/warm', body)
  return {
    model: asString(model, 'model'),
    ...(messages !== undefined && { messages: asArray(messages, 'messages') as Message[] }),
    ...(tools !== undefined && { tools: asArray(tools, 'tools') as Tool[] }),
    ...(prompt !== undefined && { prompt: asString(prompt, 'prompt') }),
  }
}

function decodeRequest(body: unknown): ContextsRequest {
  const { ids, model } = describedBody('POST /api/yard/contexts/remove', body)
  // What is no list must not stand for all there are.
  if (ids !== undefined && ids !== null && !Array.isArray(ids)) {
    throw new ModelyardError('invalid_request', "'ids' must be a list of ids.", { details: { param: 'ids' } })
  }
  return {
    ...(Array.isArray(ids) && { ids: ids.map((id, index) => asString(id, `ids[${index}]`)) }),
    ...(model !== undefined && model !== null && { model: asString(model, 'model') }),
  }
}
