import type { Clock, Timer } from '../base/clock.ts'
import type { EventHistory } from './event-history.ts'
import type { Exchange } from './exchange.ts'

const HEARTBEAT = 15_000

/**
 * `GET /api/yard/events`: the yard's events as server-sent events with their ids. `Last-Event-ID` resumes after that event; without
 * it only new ones come. A reader that is too slow skips what left the history and is told so by an `events-skipped` event.
 */
export function sendEvents(exchange: Exchange, history: EventHistory, clock: Clock): void {
  const { request, response } = exchange
  if (exchange.gone) return
  const resumed = Number.parseInt(String(request.headers['last-event-id'] ?? ''), 10)
  let cursor = Number.isFinite(resumed) ? resumed : history.lastId
  let blocked = false
  let timer: Timer | undefined
  const send = (text: string): void => {
    if (text !== '') blocked = !response.write(text)
  }
  const catchUp = (): void => {
    if (blocked) return
    const { events, lost } = history.since(cursor)
    const gap = lost === 0 ? '' : `event: events-skipped\ndata: ${JSON.stringify({ count: lost })}\n\n`
    cursor = events.at(-1)?.id ?? Math.min(cursor, history.lastId)
    send(
      gap +
        events
          .map((event) => `id: ${event.id}\nevent: ${event.name}\ndata: ${JSON.stringify(event)}\n\n`)
          .join(''),
    )
  }
  const beat = (): void => {
    if (!blocked) send(': alive\n\n')
    timer = clock.setTimer(HEARTBEAT, beat)
  }
  exchange.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  response.flushHeaders()
  if (request.method === 'HEAD') {
    response.end()
    return
  }
  const unwatch = history.watch(catchUp, () => response.end())
  response.on('drain', () => {
    blocked = false
    catchUp()
  })
  response.once('close', () => {
    unwatch()
    timer?.cancel()
  })
  beat()
  catchUp()
}
