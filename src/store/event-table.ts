import type { Clock } from '../base/clock.ts'
import type { YardEvent, YardEventName } from '../events/event-map.ts'
import { prune, type Retention } from './retention.ts'
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
const PRUNE_EVERY = 1000

/** The life of models and of the yard, for people who ask afterwards. */
export class EventTable {
  readonly #queue: WriteQueue
  readonly #clock: Clock
  readonly #retention: Retention
  #appended = 0

  constructor(queue: WriteQueue, clock: Clock, retention: Retention) {
    this.#queue = queue
    this.#clock = clock
    this.#retention = retention
    this.#prune()
  }

  append({ name, at, data }: YardEvent): void {
    if (NOT_KEPT.has(name)) return
    const event: StoredEvent = { name, at, data }
    this.#queue.add({ sql: INSERT, values: [name, Math.round(at), JSON.stringify(data)], row: event })
    if (++this.#appended % PRUNE_EVERY === 0) this.#prune()
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

  #prune(): void {
    prune(this.#queue, 'events', 'at', this.#retention, this.#clock.wallTime())
  }
}
