import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import { SupervisedChild } from '../../src/host/child-process.ts'
import { identityOf, isAlive } from '../../src/host/process-identity.ts'
import { groupMembers, processTree, signalProcess } from '../../src/host/process-tree.ts'
import { endLeftovers, recordWorker, type WorkerRecord } from '../../src/host/worker-records.ts'
import { temporaryFolder } from './temporary-folder.ts'

const clock = new SystemClock()
const started: SupervisedChild[] = []

function start(program: string, args: string[] = []): SupervisedChild {
  const script = join(import.meta.dirname, '../programs', program)
  const child = new SupervisedChild({ command: process.execPath, args: [script, ...args], clock })
  started.push(child)
  return child
}

async function ready(child: SupervisedChild): Promise<SupervisedChild> {
  await expect.poll(() => child.logTail.length).toBeGreaterThan(0)
  return child
}

/** Writes a record as a server wrote it that is dead by now. */
function recordFile(worker: Partial<WorkerRecord>): string {
  const directory = temporaryFolder('records')
  const record = { pid: 0, startTime: null, nonce: '', model: 'm', startedAt: 0, ...worker }
  recordWorker(directory, record)
  const [name = ''] = readdirSync(directory)
  const owner = { pid: process.pid, startTime: '1' }
  writeFileSync(join(directory, name), JSON.stringify({ ...record, owner }))
  return directory
}

/** The child's record; single fields may be falsified. */
function recordOf(child: SupervisedChild, changes: Partial<WorkerRecord> = {}): string {
  return recordFile({ ...child.identity, nonce: child.nonce, ...changes })
}

function alive(child: SupervisedChild): boolean {
  return child.identity !== undefined && isAlive(child.identity)
}

afterEach(async () => {
  for (const child of started) child.kill()
  await Promise.all(started.splice(0).map((child) => child.exited))
})

describe('leftovers of a crashed server (M16, R15)', () => {
  it('are ended when pid, start time and nonce agree, and reported', async () => {
    const child = await ready(start('grows-memory.mjs', ['1']))
    const directory = recordOf(child)
    const report = await endLeftovers(directory, { clock })
    expect(report).toMatchObject({ ended: [{ pid: child.pid, model: 'm' }], kept: [], discarded: 0 })
    expect(alive(child)).toBe(false)
    expect(readdirSync(directory)).toEqual([])
  })

  it('are ended by force when they ignore SIGTERM', async () => {
    const child = await ready(start('ignores-sigterm.mjs'))
    await endLeftovers(recordOf(child), { clock, grace: 200 })
    expect(await child.exited).toMatchObject({ signal: 'SIGKILL' })
  })

  it('are ended to the end, also when the process has nothing else to do', async () => {
    const child = await ready(start('ignores-sigterm.mjs'))
    const script = join(import.meta.dirname, '../programs/ends-leftovers.ts')
    const args = ['--import', 'jiti/register', script, recordOf(child)]
    const ender = new SupervisedChild({ command: process.execPath, args, clock })
    expect(await ender.exited).toMatchObject({ code: 0, logTail: ['ended 1'] })
  })

  it.each([
    ['start time', { startTime: '12345' }],
    ['start time that was never known', { startTime: null }],
    ['nonce', { nonce: '0123456789abcdef01234567' }],
  ])('are left alone when the %s does not agree, and the record goes (F26)', async (_, changes) => {
    const child = await ready(start('grows-memory.mjs', ['1']))
    const directory = recordOf(child, changes)
    expect(await endLeftovers(directory, { clock })).toEqual({ ended: [], kept: [], discarded: 1 })
    expect(alive(child)).toBe(true)
    expect(readdirSync(directory)).toEqual([])
  })

  it('are left alone, with their record, while the server that started them lives', async () => {
    const child = await ready(start('grows-memory.mjs', ['1']))
    const directory = temporaryFolder('records')
    const { pid = 0, startTime = null } = child.identity ?? {}
    const remove = recordWorker(directory, { pid, startTime, nonce: child.nonce, model: 'm', startedAt: 0 })
    expect(await endLeftovers(directory, { clock })).toMatchObject({
      ended: [],
      kept: [{ pid }],
      discarded: 0,
    })
    expect(alive(child)).toBe(true)
    expect(readdirSync(directory)).toHaveLength(1)
    remove()
    remove()
    expect(readdirSync(directory)).toEqual([])
  })

  it('are found by their group and nonce when the recorded leader is dead already', async () => {
    const nonce = 'a'.repeat(24)
    // Not supervised: nobody clears up its group when it dies.
    const leader = spawn(process.execPath, [join(import.meta.dirname, '../programs/leaves-children.mjs')], {
      detached: true,
      env: { PATH: process.env['PATH'], MODELYARD_WORKER_NONCE: nonce },
    })
    await once(leader.stdout, 'data')
    const { pid, startTime } = identityOf(leader.pid ?? 0)
    const orphans = groupMembers(pid).filter((member) => member !== pid)
    const [, ...descendants] = processTree(pid)
    leader.kill('SIGKILL')
    await once(leader, 'exit')
    expect(groupMembers(pid)).toEqual(orphans)
    const report = await endLeftovers(recordFile({ pid, startTime, nonce }), { clock })
    expect(report.ended).toHaveLength(1)
    expect(orphans).toHaveLength(1)
    expect(groupMembers(pid)).toEqual([])
    for (const escaped of descendants) signalProcess(escaped, 'SIGKILL')
  })

  it('of a group are left alone when they do not have the nonce', async () => {
    const leader = spawn(process.execPath, [join(import.meta.dirname, '../programs/leaves-children.mjs')], {
      detached: true,
      env: { PATH: process.env['PATH'], MODELYARD_WORKER_NONCE: 'b'.repeat(24) },
    })
    await once(leader.stdout, 'data')
    const { pid, startTime } = identityOf(leader.pid ?? 0)
    const descendants = processTree(pid).slice(1)
    leader.kill('SIGKILL')
    await once(leader, 'exit')
    const directory = recordFile({ pid, startTime, nonce: 'a'.repeat(24) })
    expect(await endLeftovers(directory, { clock })).toEqual({ ended: [], kept: [], discarded: 1 })
    expect(groupMembers(pid)).toHaveLength(1)
    for (const left of descendants) signalProcess(left, 'SIGKILL')
  })

  it.each(['', '{', '[]', 'null', '{"pid":1}', '{"pid":-1,"startTime":"1","nonce":"x"}'])(
    'with the junk record %j are nobody: it is removed',
    async (junk) => {
      const directory = temporaryFolder('records')
      writeFileSync(join(directory, '1-x.json'), junk)
      writeFileSync(join(directory, 'notes.txt'), 'not ours')
      expect(await endLeftovers(directory, { clock })).toEqual({ ended: [], kept: [], discarded: 1 })
      expect(readdirSync(directory)).toEqual(['notes.txt'])
    },
  )

  it('of a folder that is not there are none', async () => {
    const none = { ended: [], kept: [], discarded: 0 }
    expect(await endLeftovers(join(tmpdir(), 'no-such-folder-at-all'), { clock })).toEqual(none)
  })
})
