import type { Clock } from '../base/clock.ts'
import type { WriteQueue } from './write-queue.ts'

/** How much history is kept. */
export interface Retention {
  /** Rows. */
  count: number
  /** Milliseconds. */
  age: number
}

const DAY = 86_400_000

export const RUN_RETENTION: Retention = { count: 100_000, age: 30 * DAY }
export const EVENT_RETENTION: Retention = { count: 20_000, age: 30 * DAY }

/** Of a store that lives in memory only. */
export const MEMORY_RETENTION: Retention = { count: 1000, age: 30 * DAY }

type Table = 'runs' | 'events' | 'responses'
type TimeColumn = 'started_at' | 'at' | 'created_at'

/** Deletes what is too old or too much. */
export function prune(
  queue: WriteQueue,
  table: Table,
  time: TimeColumn,
  { count, age }: Retention,
  now: number,
): void {
  queue.add({ sql: `DELETE FROM ${table} WHERE ${time} < ?`, values: [Math.round(now - age)] })
  pruneToCount(queue, table, count)
}

/** Rows are numbered in order of arrival, so that counting them is one step. */
function pruneToCount(queue: WriteQueue, table: Table, count: number): void {
  queue.add({
    sql: `DELETE FROM ${table} WHERE number <= (SELECT max(number) FROM ${table}) - ?`,
    values: [count],
  })
}

export interface PruningOptions {
  queue: WriteQueue
  clock: Clock
  table: Table
  time: TimeColumn
  retention: Retention
}

/** Rows between two looks at how many there are. */
const COUNT_EVERY = 1000
/** Milliseconds between two looks at how old they are: that reads the whole table, which with 100,000 runs takes as long as writing 1,000 of them. */
const AGE_EVERY = 3_600_000

/** Keeps a table that only grows within its retention: at once, and from then on now and then. */
export class Pruning {
  readonly #options: PruningOptions
  #appended = 0
  #agedAt = 0

  constructor(options: PruningOptions) {
    this.#options = options
    this.#prune()
  }

  noteAppended(): void {
    if (++this.#appended % COUNT_EVERY !== 0) return
    const { clock, queue, table, retention } = this.#options
    if (clock.now() - this.#agedAt >= AGE_EVERY) this.#prune()
    else pruneToCount(queue, table, retention.count)
  }

  #prune(): void {
    const { queue, clock, table, time, retention } = this.#options
    this.#agedAt = clock.now()
    prune(queue, table, time, retention, clock.wallTime())
  }
}
