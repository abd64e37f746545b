import type { Dialect, DialectRequest, DialectRoute } from '../dialects/dialect.ts'
import { answerProgress } from './answer-progress.ts'
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
  if (action.type === 'progress') return answerProgress(exchange, action, context.port)
  const { status = 200, contentType, body } = await action.answer(context.port, exchange.signal)
  exchange.send(status, contentType, body)
}

/** A dialect's routes under each of its prefixes. */
export function dialectRoutes(dialect: Dialect, context: RunContext): ServerRoute[] {
  const below = dialect.routes.filter(({ atRoot = false }) => !atRoot)
  const atRoot = dialect.routes.filter((route) => route.atRoot === true)
  return [...dialect.prefixes, ''].flatMap((prefix) =>
    (prefix === '' ? atRoot : below).map((route) => ({
      method: route.method,
      path: prefix + route.path,
      body: route.body,
      scope: route.scope ?? ('inference' as const),
      shape: dialect,
      anyContentType: dialect.anyContentType,
      handle: (exchange: Exchange, request: DialectRequest) =>
        handleAction(exchange, route, request, context),
    })),
  )
}
