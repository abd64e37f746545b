import type { Dialect, DialectRequest, DialectRoute } from '../dialects/dialect.ts'
import { answerRun, type RunContext } from './answer-run.ts'
import type { Exchange } from './exchange.ts'
import type { ServerRoute } from './server-route.ts'

async function handleAction(
  exchange: Exchange,
  route: DialectRoute,
  request: DialectRequest,
  context: RunContext,
): Promise<void> {
  const action = route.decode(request)
  if (action.type === 'run') return answerRun(exchange, action, context)
  const { status = 200, contentType, body } = await action.answer(context.port, exchange.signal)
  exchange.send(status, contentType, body)
}

/** A dialect's routes under each of its prefixes. */
export function dialectRoutes(dialect: Dialect, context: RunContext): ServerRoute[] {
  return dialect.prefixes.flatMap((prefix) =>
    dialect.routes.map((route) => ({
      method: route.method,
      path: prefix + route.path,
      body: route.body,
      scope: 'inference' as const,
      shape: dialect,
      anyContentType: dialect.anyContentType,
      handle: (exchange: Exchange, request: DialectRequest) =>
        handleAction(exchange, route, request, context),
    })),
  )
}
