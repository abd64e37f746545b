import type { Clock } from '../base/clock.ts'
import type { RunLog, RunQuery, RunRecord } from '../runs/run-log.ts'
import { Pruning, type Retention } from './retention.ts'
import type { SqlValue } from './sqlite.ts'
import type { WriteQueue } from './write-queue.ts'

const INSERT = `INSERT INTO runs (id, model, instance, kind, started_at, queue_ms, load_ms, prefill_ms, decode_ms, total_ms,
  prompt_tokens, cached_tokens, saved_ms, completion_tokens, outcome, request, placement, error)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const SELECT = `SELECT id, model, instance, kind, started_at AS startedAt, queue_ms AS queueMs, load_ms AS loadMs,
  prefill_ms AS prefillMs, decode_ms AS decodeMs, total_ms AS totalMs, prompt_tokens AS promptTokens,
  cached_tokens AS cachedTokens, saved_ms AS savedMs, completion_tokens AS completionTokens, outcome, request, placement, error FROM runs`

/** A filter that is null suits every row. */
const FIND = `${SELECT} WHERE model = coalesce(?, model) AND kind = coalesce(?, kind) AND outcome = coalesce(?, outcome)
  AND started_at >= coalesce(?, started_at) AND started_at <= coalesce(?, started_at) ORDER BY number DESC LIMIT ?`

const BY_ID = `${SELECT} WHERE id = ? OR request = ? ORDER BY number DESC LIMIT 1`

/** The activity log. */
export class RunTable implements RunLog {
  readonly #queue: WriteQueue
  readonly #pruning: Pruning

  constructor(queue: WriteQueue, clock: Clock, retention: Retention) {
    this.#queue = queue
    this.#pruning = new Pruning({ queue, clock, table: 'runs', time: 'started_at', retention })
  }

  append(record: RunRecord): void {
    this.#queue.add({ sql: INSERT, values: valuesOf(record), row: record })
    this.#pruning.noteAppended()
  }

  /** The newest runs, newest first. */
  recent(limit: number): RunRecord[] {
    return this.find({ limit })
  }

  /** Newest first. */
  find(query: RunQuery): RunRecord[] {
    this.#queue.flush()
    const waiting = (this.#queue.pendingRows(INSERT) as RunRecord[]).filter((run) => suits(run, query))
    const { model = null, kind = null, outcome = null, since = null, until = null, limit } = query
    const rows = this.#queue.read(FIND, model, kind, outcome, since, until, limit)
    return [...waiting.toReversed(), ...(rows as unknown as RunRecord[])].slice(0, limit)
  }

  /** By its own id, or by that of the request it was for. */
  read(id: string): RunRecord | undefined {
    this.#queue.flush()
    const waiting = this.#queue.pendingRows(INSERT) as RunRecord[]
    const found = waiting.findLast((run) => run.id === id || run.request === id)
    const [row] = this.#queue.read(BY_ID, id, id)
    return found ?? (row as unknown as RunRecord | undefined)
  }
}

function valuesOf(run: RunRecord): SqlValue[] {
  return [
    run.id,
    run.model,
    run.instance,
    run.kind,
    Math.round(run.startedAt),
    run.queueMs,
    run.loadMs,
    run.prefillMs,
    run.decodeMs,
    run.totalMs,
    run.promptTokens,
    run.cachedTokens,
    run.savedMs,
    run.completionTokens,
    run.outcome,
    run.request,
    run.placement,
    run.error,
  ]
}

function suits(run: RunRecord, { model, kind, outcome, since, until }: RunQuery): boolean {
  return (
    run.model === (model ?? run.model) &&
    run.kind === (kind ?? run.kind) &&
    run.outcome === (outcome ?? run.outcome) &&
    run.startedAt >= (since ?? run.startedAt) &&
    run.startedAt <= (until ?? run.startedAt)
  )
}
