import type { Clock } from '../base/clock.ts'
import type { YardEvent, YardEventName } from '../events/event-map.ts'
import { Pruning, type Retention } from './retention.ts'
import type { WriteQueue } from './write-queue.ts'

export interface StoredEvent {
  name: string
  at: number
  data: unknown
}

/** What happens per request or many times a second is not kept here: runs have a table of their own. */
const NOT_KEPT: ReadonlySet<YardEventName> = new Set<YardEventName>([
  'load-progressed',
  'download-progressed',
  'ticket-queued',
  'lease-granted',
  'lease-released',
  'run-finished',
])

const INSERT = 'INSERT INTO events (name, at, data) VALUES (?, ?, ?)'
const SELECT = 'SELECT name, at, data FROM events ORDER BY number DESC LIMIT ?'

/** The life of models and of the yard, for people who ask afterwards. */
export class EventTable {
  readonly #queue: WriteQueue
  readonly #pruning: Pruning

  constructor(queue: WriteQueue, clock: Clock, retention: Retention) {
    this.#queue = queue
    this.#pruning = new Pruning({ queue, clock, table: 'events', time: 'at', retention })
  }

  append({ name, at, data }: YardEvent): void {
    if (NOT_KEPT.has(name)) return
    const event: StoredEvent = { name, at, data }
    this.#queue.add({ sql: INSERT, values: [name, Math.round(at), JSON.stringify(data)], row: event })
    this.#pruning.noteAppended()
  }

  /** The newest events, newest first. */
  recent(limit: number): StoredEvent[] {
    this.#queue.flush()
    const waiting = (this.#queue.pendingRows(INSERT) as StoredEvent[]).toReversed()
    const written = this.#queue.read(SELECT, limit).map(({ name, at, data }) => ({
      name: String(name),
      at: Number(at),
      data: JSON.parse(String(data)) as unknown,
    }))
    return [...waiting, ...written].slice(0, limit)
  }
}
