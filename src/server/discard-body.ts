import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'

const MOST_BYTES = 64 * 1024 ** 2
const LONGEST = 10_000

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
