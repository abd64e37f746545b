import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../base/clock.ts'
import type { ModelyardError } from '../base/errors.ts'
import { EventBus } from '../events/event-bus.ts'
import type { RunRecord } from '../runs/run-log.ts'
import { MIGRATIONS } from './migrations.ts'
import { openStore, type Store, type StoreOptions } from './open-store.ts'
import { closeDatabase, loadSqlite } from './sqlite.ts'

const DAY = 86_400_000
let folder: string
let path: string
let clock: ManualClock
let problems: ModelyardError[]
let stores: Store[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'store-'))
  path = join(folder, 'deep', 'modelyard.db')
  clock = new ManualClock(100 * DAY)
  problems = []
  stores = []
})
afterEach(async () => {
  for (const store of stores) store.close()
  await rm(folder, { recursive: true, force: true })
})

async function open(options: Partial<StoreOptions> = {}): Promise<Store> {
  const store = await openStore(path, { clock, onProblem: (problem) => problems.push(problem), ...options })
  stores.push(store)
  return store
}

/** A database as somebody leaves it who is killed in the middle of a change, before it is in WAL mode: with a journal to be rolled back. */
async function leaveHotJournal(at: string): Promise<void> {
  const source = join(folder, 'killed.db')
  const database = (await loadSqlite())(source)
  // A cache of one page has the change reach the file before its end.
  database.exec('PRAGMA cache_size = 1; CREATE TABLE filler (text TEXT)')
  const many = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)'
  database.exec(`INSERT INTO filler ${many} SELECT hex(randomblob(200)) FROM n`)
  database.exec('BEGIN; UPDATE filler SET text = hex(randomblob(200))')
  await mkdir(join(at, '..'), { recursive: true })
  for (const suffix of ['', '-journal']) await copyFile(source + suffix, at + suffix)
  database.exec('ROLLBACK')
  closeDatabase(database)
}

function run(id: string, overrides: Partial<RunRecord> = {}): RunRecord {
  return {
    id,
    model: 'smollm2',
    instance: 'smollm2#1',
    kind: 'chat',
    startedAt: clock.wallTime(),
    queueMs: 0.5,
    loadMs: 0,
    prefillMs: 12.25,
    savedMs: 3.5,
    decodeMs: 100,
    totalMs: 113,
    promptTokens: 10,
    cachedTokens: 0,
    completionTokens: 5,
    outcome: 'stop',
    request: null,
    placement: null,
    error: null,
    ...overrides,
  }
}

const ids = (store: Store, limit = 1000): string[] => store.runs.recent(limit).map(({ id }) => id)

describe('the run log', () => {
  it('gives runs back as they were, newest first, over a restart', async () => {
    const first = await open()
    first.runs.append(run('a'))
    first.runs.append(run('b', { instance: null, outcome: 'queue_full' }))
    expect(first.durable).toBe(true)
    expect(first.runs.recent(10)).toEqual([run('b', { instance: null, outcome: 'queue_full' }), run('a')])
    first.close()
    expect(ids(await open())).toEqual(['b', 'a'])
    expect(ids(await open(), 1)).toEqual(['b'])
  })

  it('forgets by count and by age (M15)', async () => {
    const retention = { runs: { count: 1500, age: 10 * DAY } }
    const first = await open({ retention })
    for (let n = 0; n < 3000; n++) first.runs.append(run(`${n}`))
    const kept = ids(first, 5000)
    expect(kept).toHaveLength(1500)
    expect(kept[0]).toBe('2999')
    first.close()
    clock.advance(11 * DAY)
    expect(ids(await open({ retention }))).toEqual([])
  })
})

describe('measurements', () => {
  it('keeps the larger per domain, in memory at once and over a restart (R4)', async () => {
    const first = await open()
    expect(first.measurements.read('plan')).toBeUndefined()
    first.measurements.write('plan', 'm', { ram: { private: 100, shared: 50 } })
    first.measurements.write('plan', 'm', {
      ram: { private: 80, shared: 70.4 },
      'gpu:0': { private: 9, shared: 0 },
    })
    const expected = { ram: { private: 100, shared: 70 }, 'gpu:0': { private: 9, shared: 0 } }
    expect(first.measurements.read('plan')).toEqual(expected)
    first.close()
    expect((await open()).measurements.read('plan')).toEqual(expected)
  })

  it('forgets plans that were not loaded for half a year', async () => {
    const first = await open()
    first.measurements.write('old', 'm', { ram: { private: 1, shared: 0 } })
    first.close()
    clock.advance(200 * DAY)
    const second = await open()
    second.close()
    expect((await open()).measurements.read('old')).toBeUndefined()
  })
})

describe('the history of loads (R7)', () => {
  it('gives load times and demand back over a restart, the demand with its age', async () => {
    const first = await open()
    expect([first.history.loadTime('plan'), first.history.demand('m')]).toEqual([undefined, undefined])
    first.history.noteLoadTime('plan', 'm', 1234.5)
    first.history.noteDemand('m', 3)
    clock.advance(2000)
    first.history.noteDemand('m', 3.9)
    expect(first.history.demand('m')).toEqual({ count: 3.9, age: 0 })
    first.close()
    clock.advance(60_000)
    const second = await open()
    expect(second.history.loadTime('plan')).toBe(1234.5)
    expect(second.history.demand('m')).toEqual({ count: 3.9, age: 60_000 })
  })

  it('keeps the last of many counts, and forgets what is of yesterday', async () => {
    const first = await open()
    for (let count = 1; count <= 100; count++) first.history.noteDemand('busy', count)
    first.history.noteLoadTime('plan', 'busy', 1)
    expect(first.history.demand('busy')?.count).toBe(100)
    first.close()
    const second = await open()
    expect(second.history.demand('busy')?.count).toBe(100)
    second.close()
    clock.advance(2 * DAY)
    const third = await open()
    third.close()
    const fourth = await open()
    expect(fourth.history.demand('busy')).toBeUndefined()
    expect(fourth.history.loadTime('plan')).toBe(1)
  })

  it('a clock that was set back makes nothing asked for in the future', async () => {
    const store = await open()
    store.history.noteDemand('m', 1)
    store.close()
    clock = new ManualClock(99 * DAY)
    expect((await open()).history.demand('m')).toEqual({ count: 1, age: 0 })
  })
})

describe('speeds of prefill', () => {
  it('are there after a restart, and are measured anew after a week', async () => {
    const first = await open()
    expect(first.speeds.speed('weights:1')).toBeUndefined()
    first.speeds.noteSpeed('weights:1', 95)
    first.speeds.noteSpeed('weights:1', 240.5)
    first.close()
    clock.advance(6 * DAY)
    const second = await open()
    expect(second.speeds.speed('weights:1')).toBe(240.5)
    second.close()
    clock.advance(2 * DAY)
    ;(await open()).close()
    expect((await open()).speeds.speed('weights:1')).toBeUndefined()
  })

  it.each([0, -5, 1e308, Infinity])('%s, which nothing can be, is not believed', async (speed) => {
    const first = await open()
    first.speeds.noteSpeed('weights:1', speed)
    first.close()
    expect((await open()).speeds.speed('weights:1')).toBeUndefined()
  })
})

describe('records of models and events', () => {
  it('learns from the events of the yard, the time of the first token included (M15, M11)', async () => {
    const store = await open()
    const bus = new EventBus(() => clock.wallTime())
    const stop = store.follow(bus)
    const failed = { code: 'model_load_failed', failure: 'crash', message: 'boom', retryIn: 5, logTail: [] }
    bus.emit('load-failed', { model: 'm', instance: 'm#1', ...failed })
    expect(store.models.read('m')).toMatchObject({
      loads: 0,
      lastError: { code: 'model_load_failed', message: 'boom' },
    })
    bus.emit('load-finished', { model: 'm', instance: 'm#2', took: 1234 })
    const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 }
    bus.emit('run-finished', { run: 'r', model: 'm', outcome: 'worker_exited', ...usage })
    expect(store.models.read('m')?.verified).toBe(false)
    bus.emit('run-finished', { run: 'r', model: 'm', outcome: 'stop', ...usage })
    bus.emit('load-progressed', { model: 'm', instance: 'm#2', fraction: 0.5 })
    const ready = { model: 'm', instance: 'm#2', took: 1276, measured: 5 }
    bus.emit('instance-ready', { ...ready, firstToken: 42 })
    bus.emit('instance-ready', { ...ready, firstToken: null })
    stop()
    bus.emit('load-finished', { model: 'm', instance: 'm#3', took: 1 })
    store.close()
    const again = await open()
    const record = { model: 'm', loads: 1, loadMs: 1234, firstTokenMs: 42, verified: true, lastError: null }
    expect(again.models.all()).toEqual([record])
    expect(again.events.recent(10).filter(({ name }) => name !== 'instance-ready')).toEqual([
      { name: 'load-finished', at: 100 * DAY, data: { model: 'm', instance: 'm#2', took: 1234 } },
      { name: 'load-failed', at: 100 * DAY, data: { model: 'm', instance: 'm#1', ...failed } },
    ])
  })

  it('keeps settings of any plain value', async () => {
    const first = await open()
    const value = { deep: [1, null, ''] }
    first.settings.write('a', value)
    first.settings.write('b', 0)
    first.settings.write('c', true)
    first.settings.remove('c')
    value.deep = []
    first.close()
    expect((await open()).settings.all()).toEqual({ a: { deep: [1, null, ''] }, b: 0 })
  })
})

describe('the file', () => {
  it('opens a file whose maker was killed in the middle: the history was in memory only from then on', async () => {
    await leaveHotJournal(path)
    const store = await open()
    expect([store.durable, problems]).toEqual([true, []])
  })

  it('refuses a newer database in a clear sentence and leaves it byte for byte (M22)', async () => {
    await mkdir(join(folder, 'deep'))
    const other = (await loadSqlite())(path)
    other.exec(`CREATE TABLE future (x); PRAGMA user_version = ${MIGRATIONS.length + 1}`)
    other.close()
    const before = readFileSync(path)
    await expect(open()).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/written by a newer Modelyard .* left as it is/) as string,
    })
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(readdirSync(join(folder, 'deep'))).toEqual(['modelyard.db'])
  })

  it('takes every older version forward, with what is in it (M22)', async () => {
    const sqlite = await loadSqlite()
    for (let version = 0; version < MIGRATIONS.length; version++) {
      path = join(folder, `v${version}.db`)
      const old = sqlite(path)
      for (const step of MIGRATIONS.slice(0, version)) old.exec(step)
      old.exec(`PRAGMA user_version = ${version}`)
      old.close()
      const store = await open()
      store.runs.append(run('a'))
      store.close()
      expect(ids(await open())).toEqual(['a'])
    }
    expect(problems).toEqual([])
  })

  it('undoes a step that fails half-way', async () => {
    await mkdir(join(folder, 'deep'))
    const foreign = (await loadSqlite())(path)
    foreign.exec('CREATE TABLE settings (mine)')
    foreign.close()
    const store = await open()
    expect(store.durable).toBe(false)
    store.close()
    const after = (await loadSqlite())(path)
    expect(after.prepare('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'settings' }])
    expect(after.prepare('PRAGMA user_version').get()).toEqual({ user_version: 0 })
    after.close()
  })

  it('sets a damaged file aside and begins a new one', async () => {
    await mkdir(join(folder, 'deep'))
    await writeFile(path, 'this was a database once. '.repeat(400))
    const store = await open()
    expect(store.durable).toBe(true)
    expect(problems).toMatchObject([{ message: expect.stringContaining('set aside') as string }])
    const aside = `${path}.damaged-${100 * DAY}`
    expect(readFileSync(aside, 'utf8')).toContain('once')
    store.runs.append(run('a'))
    store.close()
    expect(ids(await open())).toEqual(['a'])
  })

  it('lives in memory where the path cannot be had, and says so once', async () => {
    await writeFile(join(folder, 'deep'), 'a file where a folder should be')
    const store = await open()
    expect(store.durable).toBe(false)
    store.runs.append(run('a'))
    store.measurements.write('plan', 'm', { ram: { private: 1, shared: 0 } })
    expect(ids(store)).toEqual(['a'])
    expect(problems).toMatchObject([
      { code: 'disk_full', message: expect.stringContaining('serves on') as string },
    ])
    store.close()
    expect(existsSync(path)).toBe(false)
  })

  it('can be closed twice and ignores what comes afterwards', async () => {
    const store = await open()
    store.close()
    store.close()
    store.runs.append(run('late'))
    store.flush()
    expect(store.runs.recent(1)).toEqual([])
    expect(problems).toEqual([])
  })
})
