import type { Clock, Timer } from '../base/clock.ts'
import type { ResponseRecords, StoredResponse } from '../runs/response-records.ts'
import type { Retention } from './retention.ts'
import { prune } from './retention.ts'
import type { WriteQueue } from './write-queue.ts'

const INSERT = `INSERT INTO responses (id, previous, model, created_at, items, response) VALUES (?, ?, ?, ?, ?, ?)`
const SELECT = `SELECT id, previous, model, created_at AS createdAt, items, response FROM responses
  WHERE id = ? AND created_at >= ?`

/** Milliseconds between two looks for what is too old. */
const SWEEP_EVERY = 3_600_000

/** Responses that clients asked to keep. The only table that holds users' text: empty unless somebody switched it on. */
export class ResponseTable {
  readonly #queue: WriteQueue
  readonly #clock: Clock
  #timer: Timer | undefined
  #retention: Retention | undefined

  constructor(queue: WriteQueue, clock: Clock) {
    this.#queue = queue
    this.#clock = clock
  }

  /** The records, kept so long and so many; without a retention nothing is kept, and what was there goes. */
  keep(retention: Retention | undefined): ResponseRecords | undefined {
    if (!isSame(retention, this.#retention) || this.#timer === undefined) this.#begin(retention)
    if (retention === undefined) return undefined
    return {
      read: (id) => this.#read(id, retention),
      write: (response) => this.#write(response),
      remove: (id) => this.#remove(id, retention),
    }
  }

  close(): void {
    this.#timer?.cancel()
  }

  #begin(retention: Retention | undefined): void {
    this.#retention = retention
    this.#timer?.cancel()
    this.#sweep()
  }

  #sweep(): void {
    const { age = 0, count = 0 } = this.#retention ?? {}
    if (this.#retention === undefined) this.#queue.add({ sql: 'DELETE FROM responses', values: [] })
    else prune(this.#queue, 'responses', 'created_at', { age, count }, this.#clock.wallTime())
    this.#timer = this.#clock.setTimer(SWEEP_EVERY, () => this.#sweep())
  }

  #read(id: string, { age }: Retention): StoredResponse | undefined {
    this.#queue.flush()
    const oldest = Math.round(this.#clock.wallTime() - age)
    const [row] = this.#queue.read(SELECT, id, oldest)
    return row as unknown as StoredResponse | undefined
  }

  #write({ id, previous, model, createdAt, items, response }: StoredResponse): void {
    this.#queue.add({ sql: INSERT, values: [id, previous, model, Math.round(createdAt), items, response] })
    const { age = 0, count = 0 } = this.#retention ?? {}
    prune(this.#queue, 'responses', 'created_at', { age, count }, this.#clock.wallTime())
  }

  #remove(id: string, retention: Retention): boolean {
    const found = this.#read(id, retention) !== undefined
    this.#queue.add({ sql: 'DELETE FROM responses WHERE id = ?', values: [id] })
    this.#queue.flush()
    return found
  }
}

function isSame(some: Retention | undefined, other: Retention | undefined): boolean {
  return some?.age === other?.age && some?.count === other?.count
}
