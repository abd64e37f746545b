import type { Clock, Timer } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import {
  closeDatabase,
  sqliteCode,
  transaction,
  type Database,
  type SqlValue,
  type Statement,
} from './sqlite.ts'

export interface PendingWrite {
  sql: string
  values: SqlValue[]
  /** What it adds to the history, for readers who come before it is on disk. Absent for everything else. */
  row?: unknown
  /** What it says of; of those that wait under one name only the last is written. */
  about?: string
}

export interface WriteQueueOptions {
  database: Database
  clock: Clock
  /** Told once per time of trouble. */
  onProblem: (error: ModelyardError) => void
}

/** Milliseconds from the first write of a batch to its transaction. */
const BATCH_DELAY = 200
/** Writes per transaction, so that the event loop is not held for long. */
const BATCH_SIZE = 2000
/** Milliseconds until a disk that was full is tried again. */
const RETRY_DELAY = 5000
/** Writes kept while they cannot be written; then the oldest go. */
const MOST_PENDING = 10_000

/** Result codes that are the disk's fault, not the row's: the same write may succeed later. */
const DISK_TROUBLE = new Set([5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 22, 26])

/**
 * Collects writes and does them in one transaction a moment later. Adding never throws and never blocks; when the disk fails the
 * newest writes wait in memory, and are tried again.
 */
export class WriteQueue {
  readonly #options: WriteQueueOptions
  readonly #statements = new Map<string, Statement>()
  #pending: PendingWrite[] = []
  readonly #waiting = new Map<string, PendingWrite>()
  #timer: Timer | undefined
  #troubled = false
  #closed = false

  constructor(options: WriteQueueOptions) {
    this.#options = options
  }

  add(write: PendingWrite): void {
    if (this.#closed || this.#updates(write)) return
    this.#pending.push(write)
    if (write.about !== undefined) this.#waiting.set(write.about, write)
    if (this.#pending.length > MOST_PENDING) this.#dropOldest()
    this.#schedule(BATCH_DELAY)
  }

  #updates({ about, values }: PendingWrite): boolean {
    const waiting = about === undefined ? undefined : this.#waiting.get(about)
    if (waiting === undefined) return false
    waiting.values = values
    return true
  }

  #dropOldest(): void {
    this.#pending = withoutOldestHistory(this.#pending)
    this.#waiting.clear()
    for (const write of this.#pending) if (write.about !== undefined) this.#waiting.set(write.about, write)
  }

  /** Whether the disk did not take the last thing it was given. */
  get isTroubled(): boolean {
    return this.#troubled
  }

  /** What waits to be written by this statement, oldest first. */
  pendingRows(sql: string): unknown[] {
    return this.#pending.filter((write) => write.sql === sql).map((write) => write.row)
  }

  /** Rows as they are on disk; empty when it cannot be read. Call `flush` first to see the newest. */
  read(sql: string, ...values: SqlValue[]): Record<string, unknown>[] {
    if (this.#closed) return []
    try {
      return this.#statement(sql).all(...values)
    } catch (error) {
      this.#report(error)
      return []
    }
  }

  /** Writes everything that waits, if the disk allows. Never throws. */
  flush(): void {
    while (this.#pending.length > 0 && !this.#closed) {
      if (!this.#writeBatch()) return
    }
  }

  close(): void {
    if (this.#closed) return
    this.flush()
    this.#closed = true
    this.#timer?.cancel()
    this.#pending = []
    this.#statements.clear()
    closeDatabase(this.#options.database)
  }

  #schedule(delay: number): void {
    this.#timer ??= this.#options.clock.setTimer(delay, () => {
      this.#timer = undefined
      const done = this.#writeBatch()
      if (this.#pending.length > 0) this.#schedule(done ? 0 : RETRY_DELAY)
    })
  }

  /** @returns false when the disk would not take it; the batch stays */
  #writeBatch(): boolean {
    const batch = this.#pending.slice(0, BATCH_SIZE)
    if (batch.length === 0) return true
    try {
      transaction(this.#options.database, () => this.#runAll(batch))
    } catch (error) {
      if (isDiskTrouble(error)) {
        this.#report(error)
        return false
      }
      this.#writeOneByOne(batch)
    }
    this.#pending = this.#pending.slice(batch.length)
    for (const { about } of batch) if (about !== undefined) this.#waiting.delete(about)
    this.#troubled = false
    return true
  }

  #runAll(batch: readonly PendingWrite[]): void {
    for (const { sql, values } of batch) this.#statement(sql).run(...values)
  }

  /** One row that cannot be written must not take the others with it. */
  #writeOneByOne(batch: readonly PendingWrite[]): void {
    for (const { sql, values } of batch) {
      try {
        this.#statement(sql).run(...values)
      } catch (error) {
        this.#report(error)
      }
    }
  }

  #statement(sql: string): Statement {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#options.database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  #report(error: unknown): void {
    if (this.#troubled) return
    this.#troubled = true
    const message =
      `The database cannot be used now (${(error as Error).message}). Modelyard serves on; its newest history waits in ` +
      'memory and is written when the disk allows.'
    this.#options.onProblem(new ModelyardError('disk_full', message, { cause: error }))
  }
}

/** Half of the history goes, oldest first; what is not history (measurements, settings) goes only when that is not enough. */
function withoutOldestHistory(pending: readonly PendingWrite[]): PendingWrite[] {
  const history = pending.filter((write) => write.row !== undefined)
  const gone = new Set(history.slice(0, Math.ceil(history.length / 2)))
  const kept = pending.filter((write) => !gone.has(write))
  return kept.length > (MOST_PENDING * 3) / 4 ? kept.slice(-MOST_PENDING / 2) : kept
}

function isDiskTrouble(error: unknown): boolean {
  const code = sqliteCode(error)
  return code !== undefined && DISK_TROUBLE.has(code)
}
