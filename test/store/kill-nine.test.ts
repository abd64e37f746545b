import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { build } from 'tsdown'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ManualClock, sleep, SystemClock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open-store.ts'
import { closeDatabase, loadSqlite } from '../../src/store/sqlite.ts'

const FILES = 20
/** Files at a time. */
const AT_ONCE = 5
/** Per file. */
const KILLS = 10
/** Built once, inside the project so that it finds its packages: a start of plain JavaScript takes a fifth of the time. */
const BUILT = resolve(import.meta.dirname, `../../.cache/test-store-${process.pid}`)
const PROGRAM = join(BUILT, 'writer-program.js')
const folders: string[] = []
beforeAll(async () => {
  const entry = join(import.meta.dirname, 'writer-program.ts')
  await build({
    entry,
    outDir: BUILT,
    format: 'esm',
    dts: false,
    fixedExtension: false,
    logLevel: 'silent',
    config: false,
  })
})
afterAll(async () => {
  await rm(BUILT, { recursive: true, force: true })
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

interface Ending {
  /** Last run that the writer said was flushed; −1 = none. */
  flushed: number
  problems: string[]
}

/** Starts a writer and kills it so many milliseconds after it begins to open the file, or after its first flush. */
async function writeAndKill(path: string, start: number, moment: Moment): Promise<Ending> {
  const child = spawn(process.execPath, [PROGRAM, path, `${start}`], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ending: Ending = { flushed: start - 1, problems: [] }
  const exited = once(child, 'close')
  const killLater = (): unknown => sleep(new SystemClock(), moment.delay).then(() => child.kill('SIGKILL'))
  let lines = 0
  for await (const line of createInterface({ input: child.stdout })) {
    if (lines++ === (moment.after === 'begun' ? 0 : 1)) void killLater()
    if (line.startsWith('problem')) ending.problems.push(line)
    else if (line !== 'begun') ending.flushed = Math.max(ending.flushed, Number(line))
  }
  await exited
  return ending
}

interface Moment {
  after: 'begun' | 'first flush'
  delay: number
}

/** A third of the kills while the file is opened, or made and migrated; the others in the middle of writing. */
function momentOf(kill: number): Moment {
  return kill % 3 === 0
    ? { after: 'begun', delay: kill * 10 }
    : { after: 'first flush', delay: Math.floor(Math.random() * 60) }
}

/** Numbers of the runs in the store, in order, after checking the file itself. */
async function inspect(path: string): Promise<{ runs: number[]; problems: string[] }> {
  const problems: string[] = []
  const store = await openStore(path, {
    clock: new ManualClock(1_000_000),
    onProblem: (error) => problems.push(error.message),
  })
  expect([store.durable, problems]).toEqual([true, []])
  const runs = store.runs.recent(1e9).map(({ id }) => Number(id))
  store.close()
  const database = (await loadSqlite())(path)
  expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  closeDatabase(database)
  return { runs: runs.toReversed(), problems }
}

/** Kills so many writers of one file in turn. @returns how many had written something before they were killed */
async function killWriters(kills: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'kill-'))
  folders.push(folder)
  const path = join(folder, 'modelyard.db')
  let next = 0
  let wrote = 0
  for (let kill = 0; kill < kills; kill++) {
    const { flushed, problems } = await writeAndKill(path, next, momentOf(kill))
    const found = await inspect(path)
    expect([...problems, ...found.problems]).toEqual([])
    expect(found.runs.length - 1).toBeGreaterThanOrEqual(flushed)
    expect(found.runs).toEqual(Array.from({ length: found.runs.length }, (_, index) => index))
    if (found.runs.length > next) wrote++
    next = found.runs.length
  }
  return wrote
}

it(
  `opens after every one of ${FILES * KILLS} kills −9, with everything that was flushed and no half of a batch`,
  { timeout: 300_000 },
  async () => {
    // Fresh files again and again, so that some kills hit their making and migration; several at a time, since most of it is waiting.
    let wrote = 0
    for (let file = 0; file < FILES; file += AT_ONCE) {
      const counts = await Promise.all(Array.from({ length: AT_ONCE }, async () => killWriters(KILLS)))
      wrote += counts.reduce((sum, count) => sum + count, 0)
    }
    // Both kinds were among them: kills while the file was opened, and kills in the middle of writing.
    expect(wrote).toBeLessThan(FILES * KILLS)
    expect(wrote).toBeGreaterThan((FILES * KILLS) / 4)
  },
)
