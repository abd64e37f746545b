import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../base/clock.ts'
import type { StoredResponse } from '../runs/response-records.ts'
import { openStore, type Store } from './open-store.ts'

const DAY = 86_400_000
let folder: string
let clock: ManualClock
let store: Store

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'responses-'))
  clock = new ManualClock(100 * DAY)
  store = await open()
})
afterEach(async () => {
  store.close()
  await rm(folder, { recursive: true, force: true })
})

const path = (): string => join(folder, 'modelyard.db')
const open = async (): Promise<Store> => openStore(path(), { clock, onProblem: () => undefined })

const response = (id: string): StoredResponse => ({
  id,
  previous: null,
  model: 'tiny',
  createdAt: clock.wallTime(),
  items: '["a secret of somebody"]',
  response: '{}',
})

describe('responses in the store', () => {
  it('are there at once, and gone when they are too old, also where nobody writes any more', async () => {
    const records = store.responses.keep({ age: DAY, count: 10 })
    records?.write(response('resp_1'))
    expect(records?.read('resp_1')).toEqual(response('resp_1'))
    clock.advance(DAY + 1)
    expect(records?.read('resp_1')).toBeUndefined()
    // The hourly look has taken it out of the file, not only out of sight.
    clock.advance(DAY)
    store.close()
    expect((await readFile(path())).includes('a secret of somebody')).toBe(false)
  })

  it('are so many at most, the newest', () => {
    const records = store.responses.keep({ age: DAY, count: 2 })
    for (const id of ['resp_1', 'resp_2', 'resp_3']) records?.write(response(id))
    expect(['resp_1', 'resp_2', 'resp_3'].map((id) => records?.read(id)?.id)).toEqual([
      undefined,
      'resp_2',
      'resp_3',
    ])
  })

  it('are deleted once; what is off keeps nothing', () => {
    const records = store.responses.keep({ age: DAY, count: 2 })
    records?.write(response('resp_1'))
    expect([records?.remove('resp_1'), records?.remove('resp_1')]).toEqual([true, false])
    records?.write(response('resp_2'))
    expect(store.responses.keep(undefined)).toBeUndefined()
    expect(store.responses.keep({ age: DAY, count: 2 })?.read('resp_2')).toBeUndefined()
  })

  it('lie in files that nobody else can read', async () => {
    store.responses.keep({ age: DAY, count: 2 })?.write(response('resp_1'))
    store.flush()
    for (const suffix of ['', '-wal', '-shm']) expect((await stat(path() + suffix)).mode & 0o777).toBe(0o600)
  })
})
