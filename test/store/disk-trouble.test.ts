import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import type { ModelyardError } from '../../src/base/errors.ts'
import type { RunRecord } from '../../src/runs/run-log.ts'
import { openStore, type Store } from '../../src/store/open-store.ts'
import { canMount, fillDisk } from './own-disk.ts'

const DAY = 86_400_000
const root = process.getuid?.() === 0
let folder: string
let clock: ManualClock
let problems: ModelyardError[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'disk-'))
  clock = new ManualClock(100 * DAY)
  problems = []
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const open = (path: string): Promise<Store> =>
  openStore(path, { clock, onProblem: (problem) => problems.push(problem) })

function run(id: string): RunRecord {
  const times = { queueMs: 0, loadMs: 0, prefillMs: 0, decodeMs: 0, totalMs: 0 }
  const tokens = { promptTokens: 1, cachedTokens: 0, savedMs: 0, completionTokens: 1 }
  // A long outcome, so that a small disk is full soon.
  return {
    id,
    model: 'm',
    instance: null,
    kind: 'chat',
    startedAt: clock.wallTime(),
    ...times,
    ...tokens,
    outcome: 'x'.repeat(500),
    request: null,
    placement: null,
    error: null,
  }
}

/** A file system of 2 MiB of our own, taken away afterwards. */
async function onSmallDisk(use: (disk: string) => Promise<void>): Promise<void> {
  const disk = join(folder, 'disk')
  mkdirSync(disk)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk])
  try {
    await use(disk)
  } finally {
    // Lazily: SQLite's package for Node 20 keeps closed files until its statements are collected.
    execFileSync('umount', ['-l', disk])
  }
}

const mounts = canMount()

describe.skipIf(!mounts)('a disk of our own (needs root and the right to mount)', () => {
  it('serves on with a full disk, says so once, and writes everything when there is room', async () => {
    await onSmallDisk(async (disk) => {
      const store = await open(join(disk, 'modelyard.db'))
      store.runs.append(run('before'))
      store.flush()
      const empty = fillDisk(disk)
      for (let n = 0; n < 2000; n++) {
        store.runs.append(run(`${n}`))
        if (n % 100 === 0) clock.advance(31_000)
      }
      expect(problems).toMatchObject([
        { code: 'disk_full', message: expect.stringContaining('serves on') as string },
      ])
      expect(store.runs.recent(2)).toMatchObject([{ id: '1999' }, { id: '1998' }])
      store.measurements.write('plan', 'm', { ram: { private: 5, shared: 0 } })
      expect(store.measurements.read('plan')).toEqual({ ram: { private: 5, shared: 0 } })
      empty()
      clock.advance(31_000)
      store.close()
      const again = await open(join(disk, 'modelyard.db'))
      expect(
        again.runs
          .recent(3000)
          .map(({ id }) => id)
          .toReversed()
          .slice(0, 3),
      ).toEqual(['before', '0', '1'])
      expect(again.runs.recent(3000)).toHaveLength(2001)
      expect(again.measurements.read('plan')).toEqual({ ram: { private: 5, shared: 0 } })
      again.close()
      expect(problems).toHaveLength(1)
    })
  })

  it('begins in memory on a disk that is full already', async () => {
    await onSmallDisk(async (disk) => {
      fillDisk(disk)
      const store = await open(join(disk, 'deep', 'modelyard.db'))
      expect(store.durable).toBe(false)
      store.runs.append(run('a'))
      expect(store.runs.recent(1)).toMatchObject([{ id: 'a' }])
      expect(problems).toHaveLength(1)
      store.close()
    })
  })

  it('starts in memory on a read-only disk and leaves the file there as it is', async () => {
    await onSmallDisk(async (disk) => {
      const elsewhere = join(folder, 'modelyard.db')
      const path = join(disk, 'modelyard.db')
      const first = await open(elsewhere)
      first.runs.append(run('kept'))
      first.close()
      copyFileSync(elsewhere, path)
      execFileSync('mount', ['-o', 'remount,ro', disk])
      const second = await open(path)
      expect(second.durable).toBe(false)
      second.runs.append(run('lost'))
      expect(second.runs.recent(5)).toMatchObject([{ id: 'lost' }])
      expect(problems).toHaveLength(1)
      second.close()
      execFileSync('mount', ['-o', 'remount,rw', disk])
      const third = await open(path)
      expect(third.runs.recent(5)).toMatchObject([{ id: 'kept' }])
      third.close()
    })
  })
})

it.skipIf(root)(
  'lives in memory in a folder that may not be written (not tested as root, who may write all)',
  async () => {
    await chmod(folder, 0o555)
    const store = await open(join(folder, 'modelyard.db'))
    expect(store.durable).toBe(false)
    expect(problems).toHaveLength(1)
    store.close()
  },
)
