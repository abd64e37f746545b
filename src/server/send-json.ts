import type { Exchange } from './exchange.ts'

/** A whole answer that is never to be kept by anybody on the way. */
export function sendJson(exchange: Exchange, value: unknown, status = 200): void {
  exchange.send(status, 'application/json', JSON.stringify(value), { 'cache-control': 'no-store' })
}
