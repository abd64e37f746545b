import type { DialectRequest } from '../dialects/dialect.ts'
import type { AccessScope } from './api-keys.ts'
import type { ErrorShape, Exchange } from './exchange.ts'

/** One route of the server, whatever it came from. */
export interface ServerRoute {
  method: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE'
  /** Whole path; `/*` at the end takes the rest. */
  path: string
  body: 'json' | 'form' | 'none'
  scope: AccessScope
  shape: ErrorShape
  anyContentType: boolean
  /** @throws ModelyardError for what goes wrong before the first byte */
  handle(exchange: Exchange, request: DialectRequest): Promise<void> | void
}
