import type { ServerResponse } from 'node:http'
import type { ProgressAction } from '../dialects/dialect.ts'
import type { YardPort } from '../dialects/yard-port.ts'
import type { Exchange } from './exchange.ts'

/**
 * Sends the steps of an action as they come, no faster than the client reads. @throws ModelyardError for what fails before the first
 * byte
 */
export async function answerProgress(
  exchange: Exchange,
  action: ProgressAction,
  port: YardPort,
): Promise<void> {
  const { response } = exchange
  try {
    for await (const piece of action.pieces(port, exchange.signal)) {
      if (exchange.gone) return
      begin(exchange, action)
      if (!response.write(piece)) await drained(response)
    }
    begin(exchange, action)
    response.end()
  } catch (thrown) {
    if (exchange.gone) return
    if (!response.headersSent) throw thrown
    const known = exchange.noteError(thrown)
    response.end(action.fail(known, exchange.statusOf(known)))
  }
}

function begin(exchange: Exchange, { contentType }: ProgressAction): void {
  if (exchange.response.headersSent || exchange.gone) return
  exchange.writeHead(200, {
    'content-type': contentType,
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  })
}

/** Resolves when the client has read enough, or is gone. */
function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.once('drain', done).once('close', done)
  })
}
