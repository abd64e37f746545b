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

/** Deletes what is too old or too much. Rows are numbered in order of arrival, so that counting them is one step. */
export function prune(
  queue: WriteQueue,
  table: 'runs' | 'events' | 'responses',
  time: 'started_at' | 'at' | 'created_at',
  { count, age }: Retention,
  now: number,
): void {
  queue.add({ sql: `DELETE FROM ${table} WHERE ${time} < ?`, values: [Math.round(now - age)] })
  queue.add({
    sql: `DELETE FROM ${table} WHERE number <= (SELECT max(number) FROM ${table}) - ?`,
    values: [count],
  })
}
