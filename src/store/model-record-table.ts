import type { Clock } from '../base/clock.ts'
import type { WriteQueue } from './write-queue.ts'

/** What is remembered of a model over restarts (M15). Times are milliseconds. */
export interface ModelRecord {
  model: string
  /** Loads that succeeded. */
  loads: number
  /** Of the last load. */
  loadMs: number | null
  /** Of the last warm-up (M11). */
  firstTokenMs: number | null
  /** It has answered at least once. */
  verified: boolean
  lastError: { code: string; message: string; at: number } | null
}

const UPSERT = `INSERT INTO model_records (model, loads, load_ms, first_token_ms, verified, error_code, error_message, error_at,
  updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (model) DO UPDATE SET loads = excluded.loads,
  load_ms = excluded.load_ms, first_token_ms = excluded.first_token_ms, verified = excluded.verified,
  error_code = excluded.error_code, error_message = excluded.error_message, error_at = excluded.error_at,
  updated_at = excluded.updated_at`
const SELECT = 'SELECT * FROM model_records'

export class ModelRecordTable {
  readonly #queue: WriteQueue
  readonly #clock: Clock
  readonly #known = new Map<string, ModelRecord>()

  constructor(queue: WriteQueue, clock: Clock) {
    this.#queue = queue
    this.#clock = clock
    for (const row of queue.read(SELECT)) {
      const record = recordOf(row)
      this.#known.set(record.model, record)
    }
  }

  read(model: string): ModelRecord | undefined {
    return this.#known.get(model)
  }

  all(): ModelRecord[] {
    return [...this.#known.values()]
  }

  loaded(model: string, took: number): void {
    const { loads = 0 } = this.#known.get(model) ?? {}
    this.#write(model, { loads: loads + 1, loadMs: took, lastError: null })
  }

  firstToken(model: string, took: number): void {
    this.#write(model, { firstTokenMs: took })
  }

  answered(model: string): void {
    if (this.#known.get(model)?.verified !== true) this.#write(model, { verified: true })
  }

  failed(model: string, error: { code: string; message: string }): void {
    const at = Math.round(this.#clock.wallTime())
    this.#write(model, { lastError: { code: error.code, message: error.message, at } })
  }

  #write(model: string, change: Partial<ModelRecord>): void {
    const record: ModelRecord = { ...emptyRecord(model), ...this.#known.get(model), ...change }
    this.#known.set(model, record)
    const { loads, loadMs, firstTokenMs, verified, lastError } = record
    const error = [lastError?.code ?? null, lastError?.message ?? null, lastError?.at ?? null]
    const now = Math.round(this.#clock.wallTime())
    this.#queue.add({
      sql: UPSERT,
      values: [model, loads, loadMs, firstTokenMs, Number(verified), ...error, now],
    })
  }
}

function emptyRecord(model: string): ModelRecord {
  return { model, loads: 0, loadMs: null, firstTokenMs: null, verified: false, lastError: null }
}

function recordOf(row: Record<string, unknown>): ModelRecord {
  const code = row['error_code'] as string | null
  return {
    model: String(row['model']),
    loads: Number(row['loads']),
    loadMs: row['load_ms'] as number | null,
    firstTokenMs: row['first_token_ms'] as number | null,
    verified: row['verified'] === 1,
    lastError:
      code === null ? null : { code, message: String(row['error_message']), at: Number(row['error_at']) },
  }
}
