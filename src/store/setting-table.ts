import type { Clock } from '../base/clock.ts'
import type { WriteQueue } from './write-queue.ts'

const UPSERT = `INSERT INTO settings (key, value, updated_at) VALUES (?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`
const REMOVE = 'DELETE FROM settings WHERE key = ?'
const SELECT = 'SELECT key, value FROM settings'

/** Settings that were changed at run time (M2). Values are plain data; reading is synchronous and free. */
export class SettingTable {
  readonly #queue: WriteQueue
  readonly #clock: Clock
  readonly #known = new Map<string, unknown>()

  constructor(queue: WriteQueue, clock: Clock) {
    this.#queue = queue
    this.#clock = clock
    for (const { key, value } of queue.read(SELECT)) this.#known.set(String(key), JSON.parse(String(value)))
  }

  all(): Record<string, unknown> {
    return Object.fromEntries(this.#known)
  }

  read(key: string): unknown {
    return this.#known.get(key)
  }

  write(key: string, value: unknown): void {
    const text = JSON.stringify(value)
    this.#known.set(key, JSON.parse(text))
    this.#queue.add({ sql: UPSERT, values: [key, text, Math.round(this.#clock.wallTime())] })
  }

  remove(key: string): void {
    if (this.#known.delete(key)) this.#queue.add({ sql: REMOVE, values: [key] })
  }
}
