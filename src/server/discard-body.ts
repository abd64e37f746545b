import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'

const MOST_BYTES = 64 * 1024 ** 2
const LONGEST = 10_000

/** Whether bytes of the body are still to come. A request without a body is complete only after its handler was called. */
export function hasUnreadBody({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/**
 * Reads away the rest of an upload that was answered early, then ends the answer: closing at once would reset the connection, and
 * clients that write before they read would never see the refusal (BR-10). Past 64 MiB or 10 s the connection is cut.
 */
export function discardBody(request: IncomingMessage, response: ServerResponse, clock: Clock): void {
  let left = MOST_BYTES
  const timer = clock.setTimer(LONGEST, () => request.destroy())
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) request.destroy()
  })
  request.once('end', () => response.end())
  request.once('close', () => timer.cancel())
  request.resume()
}
