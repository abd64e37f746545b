import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import { SupervisedChild, type ChildOptions } from '../../src/host/child-process.ts'
import { isAlive } from '../../src/host/process-identity.ts'
import { measureProcessTree } from '../../src/host/process-memory.ts'
import { groupMembers, processTree, signalProcess } from '../../src/host/process-tree.ts'
import { temporaryFolder } from './temporary-folder.ts'

const clock = new SystemClock()
const started: SupervisedChild[] = []

function start(program: string, args: string[] = [], options: Partial<ChildOptions> = {}): SupervisedChild {
  const script = join(import.meta.dirname, '../programs', program)
  const child = new SupervisedChild({ command: process.execPath, args: [script, ...args], clock, ...options })
  started.push(child)
  return child
}

async function saying(child: SupervisedChild, word: string): Promise<string> {
  await expect.poll(() => child.logTail.join('\n')).toContain(word)
  return child.logTail.find((line) => line.includes(word)) ?? ''
}

function alive(pid: number): boolean {
  return isAlive({ pid, startTime: null })
}

afterEach(async () => {
  for (const child of started) child.kill()
  await Promise.all(started.splice(0).map((child) => child.exited))
})

describe('a supervised child', () => {
  it('gets its arguments as they are, never through a shell (BR-24)', async () => {
    const args = ['a b', `é'"`, '$(touch /tmp/x)', '*', '', '--option=ü']
    const child = start('prints-arguments.mjs', args)
    const exit = await child.exited
    expect(exit).toMatchObject({ code: 0, signal: null, expected: false })
    expect(JSON.parse(exit.logTail[0] ?? '')).toEqual({ args, nonce: child.nonce })
  })

  it('that does not exist is an exit with the reason, not an exception', async () => {
    const child = new SupervisedChild({ command: '/no/such/program', args: [], clock })
    expect(child.pid).toBeUndefined()
    expect(await child.exited).toMatchObject({ code: null, error: { code: 'ENOENT' } })
    await child.stop({ grace: 10 })
  })

  it('ends on SIGTERM', async () => {
    const child = start('grows-memory.mjs', ['1'])
    await saying(child, 'ready')
    const before = clock.now()
    expect(await child.stop({ grace: 60_000 })).toMatchObject({ signal: 'SIGTERM', expected: true })
    expect(clock.now() - before).toBeLessThan(20_000)
  })

  it('that ignores SIGTERM ends after the grace, and the second stop is the same (BR-18)', async () => {
    const child = start('ignores-sigterm.mjs')
    await saying(child, 'ready')
    const before = clock.now()
    const [first, second] = await Promise.all([child.stop({ grace: 400 }), child.stop({ grace: 400 })])
    expect(clock.now() - before).toBeGreaterThanOrEqual(390)
    expect(first).toMatchObject({ signal: 'SIGKILL', expected: true })
    expect(second).toEqual(first)
    expect(first.logTail).toContain('not yet')
  })

  it('takes its group with it when it exits by itself, and an escaped grandchild cannot hold up the report', async () => {
    const child = start('leaves-children.mjs', ['exit'])
    const { gone } = JSON.parse(await saying(child, 'gone')) as { gone: number }
    const before = clock.now()
    expect(await child.exited).toMatchObject({ code: 7, expected: false })
    // The grandchild has the output open for a quarter of an hour.
    expect(clock.now() - before).toBeLessThan(20_000)
    expect(groupMembers(child.pid ?? 0)).toEqual([])
    // It left group and parent: nothing proves any more that it is ours, so nothing was done to it.
    expect(alive(gone)).toBe(true)
    signalProcess(gone, 'SIGKILL')
  })

  it('is killed together with descendants that have left its group', async () => {
    const child = start('leaves-children.mjs')
    const { gone } = JSON.parse(await saying(child, 'gone')) as { gone: number }
    expect(processTree(child.pid ?? 0)).toHaveLength(3)
    child.kill()
    await child.exited
    await expect.poll(() => alive(gone)).toBe(false)
    expect(groupMembers(child.pid ?? 0)).toEqual([])
  })

  it('may flood its output: the tail stays bounded and the log file too', async () => {
    const directory = temporaryFolder('logs')
    const child = start('floods-output.mjs', ['60'], { log: { directory, name: 'org/model:x' } })
    const { logTail, code } = await child.exited
    expect(code).toBe(0)
    expect(logTail).toHaveLength(40)
    expect(logTail.at(-1)).toBe('the last line')
    const sizes = readdirSync(directory).map((name) => statSync(join(directory, name)).size)
    expect(sizes.length).toBeLessThanOrEqual(2)
    for (const size of sizes) expect(size).toBeLessThanOrEqual(4 * 1024 ** 2 + 65_536)
  })

  it('has its output in a log file of its own', async () => {
    const directory = join(temporaryFolder('logs'), 'new')
    await start('floods-output.mjs', ['0'], { log: { directory, name: 'org/model:x' } }).exited
    expect(readFileSync(join(directory, 'org_model_x.log'), 'utf8')).toBe('the last line\n')
  })

  it('runs without its log where that cannot be written (BR-25)', async () => {
    const file = join(temporaryFolder('logs'), 'file')
    writeFileSync(file, '')
    const directory = join(file, 'below a file')
    const exit = await start('floods-output.mjs', ['0'], { log: { directory, name: 'x' } }).exited
    expect(exit).toMatchObject({ code: 0, logTail: ['the last line'] })
  })

  it.runIf(process.platform === 'linux')(
    'is what the kernel ends first when memory runs out (BR-69)',
    async () => {
      const child = start('grows-memory.mjs', ['1'])
      await saying(child, 'ready')
      expect(readFileSync(`/proc/${child.pid}/oom_score_adj`, 'utf8').trim()).toBe('600')
    },
  )
})

describe('the memory of a process tree (M12, F21)', () => {
  it('is that of the process and its children, and of nobody else', async () => {
    const foreign = start('grows-memory.mjs', ['200'])
    const child = start('grows-memory.mjs', ['100', '50'])
    await Promise.all([saying(foreign, 'ready'), saying(child, 'ready')])
    const memory = await measureProcessTree(child.pid ?? 0)
    expect(memory?.private).toBeGreaterThan(150 * 1024 ** 2)
    expect(memory?.private).toBeLessThan(200 * 1024 ** 2)
  })

  it('is unknown when the process is gone', async () => {
    const child = start('prints-arguments.mjs')
    await child.exited
    expect(await measureProcessTree(child.pid ?? 0)).toBeUndefined()
  })
})
