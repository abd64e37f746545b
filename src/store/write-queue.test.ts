import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../base/clock.ts'
import type { ModelyardError } from '../base/errors.ts'
import { loadSqlite, type Database } from './sqlite.ts'
import { WriteQueue } from './write-queue.ts'

const INSERT = 'INSERT INTO t (n) VALUES (?)'
const FULL = Object.assign(new Error('database or disk is full'), { errcode: 13 })

let real: Database
let clock: ManualClock
let problems: ModelyardError[]
let transactions: number
let atClosing: unknown[]
/** What the disk says to the next BEGIN; undefined = it works. */
let trouble: Error | undefined

beforeEach(async () => {
  real = (await loadSqlite())(':memory:')
  real.exec('CREATE TABLE t (n INTEGER NOT NULL) STRICT')
  clock = new ManualClock()
  problems = []
  transactions = 0
  atClosing = []
  trouble = undefined
})

function queue(): WriteQueue {
  const database: Database = {
    exec(sql) {
      if (sql.startsWith('BEGIN')) {
        if (trouble !== undefined) throw trouble
        transactions++
      }
      real.exec(sql)
    },
    prepare: (sql) => real.prepare(sql),
    close() {
      atClosing = rows()
      real.close()
    },
  }
  return new WriteQueue({ database, clock, onProblem: (problem) => problems.push(problem) })
}

const rows = (): unknown[] =>
  real
    .prepare('SELECT n FROM t')
    .all()
    .map((row) => row['n'])

describe('WriteQueue', () => {
  it('of what waits about one thing only the last is written, and what comes after that is written, too', () => {
    const writes = queue()
    for (const n of [1, 2, 3]) writes.add({ sql: INSERT, values: [n], about: 'a' })
    writes.add({ sql: INSERT, values: [9], about: 'b' })
    clock.advance(200)
    expect(rows()).toEqual([3, 9])
    writes.add({ sql: INSERT, values: [4], about: 'a' })
    clock.advance(200)
    expect(rows()).toEqual([3, 9, 4])
    trouble = FULL
    for (let n = 0; n < 20_000; n++) writes.add({ sql: INSERT, values: [n], about: 'a' })
    trouble = undefined
    clock.advance(30_000)
    expect(rows()).toEqual([3, 9, 4, 19_999])
  })

  it('does what came within a moment in one transaction', () => {
    const writes = queue()
    for (const n of [1, 2, 3]) writes.add({ sql: INSERT, values: [n], row: n })
    expect(rows()).toEqual([])
    clock.advance(200)
    expect(rows()).toEqual([1, 2, 3])
    expect(transactions).toBe(1)
    clock.advance(10_000)
    expect(transactions).toBe(1)
  })

  it('does a great many in several transactions, so that nothing is held up for long', () => {
    const writes = queue()
    for (let n = 0; n < 5000; n++) writes.add({ sql: INSERT, values: [n], row: n })
    clock.advance(200)
    expect(rows()).toHaveLength(5000)
    expect(transactions).toBe(3)
  })

  it('writes what waits when it is flushed or closed, and nothing afterwards', () => {
    const writes = queue()
    writes.add({ sql: INSERT, values: [1], row: 1 })
    writes.flush()
    expect(rows()).toEqual([1])
    writes.add({ sql: INSERT, values: [2], row: 2 })
    writes.close()
    expect(atClosing).toEqual([1, 2])
    writes.add({ sql: INSERT, values: [3], row: 3 })
    writes.flush()
    expect(writes.read('SELECT n FROM t')).toEqual([])
    expect(problems).toEqual([])
  })

  it('keeps what a full disk refuses, says so once, and writes it when there is room', () => {
    const writes = queue()
    trouble = FULL
    for (const n of [1, 2]) {
      writes.add({ sql: INSERT, values: [n], row: n })
      clock.advance(40_000)
    }
    expect(rows()).toEqual([])
    expect(writes.pendingRows(INSERT)).toEqual([1, 2])
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatchObject({
      code: 'disk_full',
      message: expect.stringContaining('serves on') as string,
    })
    trouble = undefined
    clock.advance(30_000)
    expect(rows()).toEqual([1, 2])
    trouble = FULL
    writes.add({ sql: INSERT, values: [3], row: 3 })
    clock.advance(200)
    expect(problems).toHaveLength(2)
  })

  it('drops old history while nothing can be written, and what is no history last', () => {
    const writes = queue()
    trouble = FULL
    writes.add({ sql: INSERT, values: [-1] })
    for (let n = 0; n < 100_000; n++) writes.add({ sql: INSERT, values: [n], row: n })
    trouble = undefined
    writes.flush()
    const kept = rows() as number[]
    expect(kept.length).toBeLessThanOrEqual(10_001)
    expect(kept[0]).toBe(-1)
    expect(kept.at(-1)).toBe(99_999)
  })

  it('loses one row that cannot be written, and no other', () => {
    const writes = queue()
    writes.add({ sql: INSERT, values: [1], row: 1 })
    writes.add({ sql: INSERT, values: ['text'], row: 2 })
    writes.add({ sql: INSERT, values: [Number.NaN], row: 3 })
    writes.add({ sql: INSERT, values: [4], row: 4 })
    clock.advance(200)
    expect(rows()).toEqual([1, 4])
    expect(writes.pendingRows(INSERT)).toEqual([])
    expect(problems).toHaveLength(1)
  })

  it('reads nothing, and says so, where the disk cannot be read', () => {
    const writes = queue()
    expect(writes.read('SELECT * FROM missing')).toEqual([])
    expect(problems).toHaveLength(1)
  })
})
