import type { Clock } from '../base/clock.ts'
import type { RunLog, RunRecord } from '../runs/run-log.ts'
import type { Retention } from './retention.ts'
import { prune } from './retention.ts'
import type { WriteQueue } from './write-queue.ts'

const INSERT = `INSERT INTO runs (id, model, instance, kind, started_at, queue_ms, load_ms, prefill_ms, decode_ms, total_ms,
  prompt_tokens, cached_tokens, completion_tokens, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const SELECT = `SELECT id, model, instance, kind, started_at AS startedAt, queue_ms AS queueMs, load_ms AS loadMs,
  prefill_ms AS prefillMs, decode_ms AS decodeMs, total_ms AS totalMs, prompt_tokens AS promptTokens,
  cached_tokens AS cachedTokens, completion_tokens AS completionTokens, outcome FROM runs ORDER BY number DESC LIMIT ?`

/** Appends between two looks at the retention. */
const PRUNE_EVERY = 1000

/** The activity log. */
export class RunTable implements RunLog {
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

  append(record: RunRecord): void {
    const { id, model, instance, kind, startedAt, queueMs, loadMs, prefillMs, decodeMs, totalMs } = record
    const times = [Math.round(startedAt), queueMs, loadMs, prefillMs, decodeMs, totalMs]
    const tokens = [record.promptTokens, record.cachedTokens, record.completionTokens]
    const values = [id, model, instance, kind, ...times, ...tokens, record.outcome]
    this.#queue.add({ sql: INSERT, values, row: record })
    if (++this.#appended % PRUNE_EVERY === 0) this.#prune()
  }

  /** The newest runs, newest first. */
  recent(limit: number): RunRecord[] {
    this.#queue.flush()
    const waiting = (this.#queue.pendingRows(INSERT) as RunRecord[]).toReversed()
    const written = this.#queue.read(SELECT, limit) as unknown as RunRecord[]
    return [...waiting, ...written].slice(0, limit)
  }

  #prune(): void {
    prune(this.#queue, 'runs', 'started_at', this.#retention, this.#clock.wallTime())
  }
}
