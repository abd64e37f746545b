import type { Clock } from '../base/clock.ts'
import type { LoadHistory } from '../pool/load-history.ts'
import type { WriteQueue } from './write-queue.ts'

const KEEP_LOAD_TIME = `INSERT INTO load_times (plan_key, model, milliseconds, updated_at) VALUES (?, ?, ?, ?)
  ON CONFLICT (plan_key) DO UPDATE SET model = excluded.model, milliseconds = excluded.milliseconds, updated_at = excluded.updated_at`
const KEEP_DEMAND = `INSERT INTO demand (model, count, counted_at) VALUES (?, ?, ?)
  ON CONFLICT (model) DO UPDATE SET count = excluded.count, counted_at = excluded.counted_at`
const LOAD_TIMES = 'SELECT plan_key, milliseconds FROM load_times'
const DEMAND = 'SELECT model, count, counted_at FROM demand'
const FORGET_LOAD_TIMES = 'DELETE FROM load_times WHERE updated_at < ?'
const FORGET_DEMAND = 'DELETE FROM demand WHERE counted_at < ?'

const DAY = 86_400_000
/** Plans that were not loaded for so long are forgotten: files and options have changed since. */
const LOAD_TIMES_KEPT_FOR = 180 * DAY
/** What was asked for then says nothing of now. */
const DEMAND_KEPT_FOR = DAY

/** Load times and demand. All of it lives in memory; the file is for the next start. */
export class LoadHistoryTable implements LoadHistory {
  readonly #queue: WriteQueue
  readonly #clock: Clock
  readonly #loadTimes = new Map<string, number>()
  readonly #demand = new Map<string, { count: number; at: number }>()

  constructor(queue: WriteQueue, clock: Clock) {
    this.#queue = queue
    this.#clock = clock
    const now = clock.wallTime()
    queue.add({ sql: FORGET_LOAD_TIMES, values: [Math.round(now - LOAD_TIMES_KEPT_FOR)] })
    queue.add({ sql: FORGET_DEMAND, values: [Math.round(now - DEMAND_KEPT_FOR)] })
    for (const row of queue.read(LOAD_TIMES))
      this.#loadTimes.set(String(row['plan_key']), Number(row['milliseconds']))
    for (const row of queue.read(DEMAND))
      this.#demand.set(String(row['model']), { count: Number(row['count']), at: Number(row['counted_at']) })
  }

  loadTime(planKey: string): number | undefined {
    return this.#loadTimes.get(planKey)
  }

  noteLoadTime(planKey: string, model: string, milliseconds: number): void {
    this.#loadTimes.set(planKey, milliseconds)
    const values = [planKey, model, milliseconds, Math.round(this.#clock.wallTime())]
    this.#queue.add({ sql: KEEP_LOAD_TIME, values })
  }

  demand(model: string): { count: number; age: number } | undefined {
    const known = this.#demand.get(model)
    if (known === undefined) return undefined
    return { count: known.count, age: Math.max(0, this.#clock.wallTime() - known.at) }
  }

  noteDemand(model: string, count: number): void {
    const at = Math.round(this.#clock.wallTime())
    this.#demand.set(model, { count, at })
    this.#queue.add({ sql: KEEP_DEMAND, values: [model, count, at], about: `demand of ${model}` })
  }
}
