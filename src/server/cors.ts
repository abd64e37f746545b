import type { IncomingMessage } from 'node:http'
import type { OriginList } from './origin-list.ts'

const EXPOSED =
  'x-request-id, request-id, retry-after, retry-after-ms, x-should-retry, modelyard-model, modelyard-instance, ' +
  'modelyard-queue-ms, modelyard-load-ms, modelyard-cached-tokens, modelyard-run, modelyard-placement'

const METHODS = 'GET, HEAD, POST, PATCH, DELETE, OPTIONS'

/** CORS headers of any answer, errors and streams included (BR-11); none for origins that are not allowed. */
export function corsHeaders(request: IncomingMessage, origins: OriginList): Record<string, string> {
  const { origin } = request.headers
  if (origin === undefined) return {}
  if (!origins.allows(origin)) return { vary: 'Origin' }
  return { 'access-control-allow-origin': origin, vary: 'Origin', 'access-control-expose-headers': EXPOSED }
}

/** Headers of a preflight's answer: whatever headers the client asks for are echoed, since SDKs add new ones with each release. */
export function preflightHeaders(request: IncomingMessage, origins: OriginList): Record<string, string> {
  const headers = corsHeaders(request, origins)
  if (headers['access-control-allow-origin'] === undefined) return { ...headers, allow: METHODS }
  const { headers: asked } = request
  const names = asked['access-control-request-headers']
  return {
    ...headers,
    vary: 'Origin, Access-Control-Request-Headers',
    'access-control-allow-methods': METHODS,
    'access-control-max-age': '7200',
    ...(typeof names === 'string' ? { 'access-control-allow-headers': names } : {}),
    ...(asked['access-control-request-private-network'] === 'true'
      ? { 'access-control-allow-private-network': 'true' }
      : {}),
  }
}
