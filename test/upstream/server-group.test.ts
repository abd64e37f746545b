import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { createYard, type Yard } from '../../src/yard.ts'
import { removeFolder, temporaryFolder } from '../models/paths.ts'

const PROGRAM = join(import.meta.dirname, '../programs/server-group.mjs')
const MESSAGES = [{ role: 'user' as const, content: 'hi' }]
const MIB = 1024 ** 2

let folder: string
let yard: Yard | undefined
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(async () => removeFolder(folder))
afterEach(async () => {
  await yard?.stop({ deadline: 0 })
  yard = undefined
})

/** A model in a server of its own, of so many processes. */
async function open(mode: string, count = 2, name = mode + count): Promise<Yard> {
  yard = await createYard({
    home: join(folder, name),
    models: {
      group: {
        engine: 'upstream',
        start: {
          command: [process.execPath, PROGRAM, '{port}', '{rank}', '{count}', '{master}', mode],
          followerArguments: ['--follow={master}'],
          count,
          memory: mode === 'grows' ? '1GiB' : count === 2 ? ['64MiB', '48MiB'] : '64MiB',
          environment: { GROUP_KEY: '{key}' },
        },
      },
    },
  })
  return yard
}

/** Processes that are written down as workers. */
function workers(mode: string): number {
  return readdirSync(join(folder, mode, 'workers')).length
}

function pidOf(mode: string, process: string): number {
  const records = readdirSync(join(folder, mode, 'workers')).map(
    (name) =>
      JSON.parse(readFileSync(join(folder, mode, 'workers', name), 'utf8')) as { pid: number; model: string },
  )
  return records.find(({ model }) => model === process)?.pid ?? Number.NaN
}

it('a server of two processes is one worker: both run, one answers, what both take is booked', async () => {
  const running = await open('works')
  expect((await running.chat({ model: 'group', messages: MESSAGES }).answer()).text).toBe('2 processes')
  expect(workers('works2')).toBe(2)
  const [instance] = running.state().instances
  expect(instance?.booked.ram).toBeGreaterThanOrEqual(112 * MIB)
  expect(instance?.measured?.ram ?? 0).toBeGreaterThan(MIB)
  await running.unloadModel('group')
  expect(workers('works2')).toBe(0)
  expect(running.state().memory.ram?.booked).toBe(0)
})

it('a server of one process is started, too', async () => {
  const { text } = await (await open('works', 1)).chat({ model: 'group', messages: MESSAGES }).answer()
  expect(text).toBe('1 processes')
})

it('the end of any process is the end of all: its run gets an error, nothing stays, the next request starts anew', async () => {
  const running = await open('hangs')
  const heard: string[] = []
  const failed = (async () => {
    for await (const part of running.chat({ model: 'group', messages: MESSAGES }))
      if (part.type === 'text') heard.push(part.text)
  })().catch((error: unknown) => error)
  // Of which nothing has come would be repeated unseen (R11).
  await vi.waitFor(() => expect(heard).toEqual(['2 processes']), 20_000)
  process.kill(pidOf('hangs2', 'group.1'), 'SIGKILL')
  expect(await failed).toMatchObject({ code: 'worker_exited' })
  await vi.waitFor(() => expect(workers('hangs2')).toBe(0), 20_000)
})

it('a process that ends while the others start fails the load with its last words', async () => {
  const running = await open('fails')
  await expect(running.chat({ model: 'group', messages: MESSAGES }).answer()).rejects.toMatchObject({
    code: 'model_load_failed',
    details: { exitCode: 3, logTail: expect.arrayContaining(['rank 1 has no device']) as string[] },
  })
  expect(workers('fails2')).toBe(0)
})

it('whose port was taken between its choice and its use is started anew on another; when that goes on it is told', async () => {
  const running = await open(`port-taken:${join(folder, 'taken-once')}`, 1, 'once')
  const { text } = await running.chat({ model: 'group', messages: MESSAGES }).answer()
  expect(text).toBe('1 processes')
  await running.stop()
  const never = await open('port-taken:', 1, 'never')
  await expect(never.chat({ model: 'group', messages: MESSAGES }).answer()).rejects.toMatchObject({
    code: 'model_load_failed',
    message: expect.stringContaining('3 times something else had a port') as string,
    details: { failure: 'port' },
  })
})

it('what it holds shows how far it is: one that grows is not given up as one that stands still', async () => {
  const running = await open('grows', 1)
  const answer = running.chat({ model: 'group', messages: MESSAGES }).answer()
  const failed = answer.catch((error: unknown) => error)
  const progress = (): number => running.state().instances[0]?.progress ?? 0
  await vi.waitFor(() => expect(progress()).toBeGreaterThan(0), 30_000)
  const first = progress()
  await vi.waitFor(() => expect(progress()).toBeGreaterThan(first), 30_000)
  await running.stop({ deadline: 0 })
  expect(await failed).toBeInstanceOf(Error)
})

it('needs a place or a command, and memory for each process', async () => {
  const start = { command: ['x'], count: 3, memory: [MIB, MIB] }
  const refused = async (options: object): Promise<string> =>
    createYard({ home: false, models: { one: { engine: 'upstream', ...options } } }).then(
      async (made) => {
        const words = await made.plan('one').then(
          () => 'accepted',
          (error: Error) => error.message,
        )
        await made.stop()
        return words
      },
      (error: Error) => error.message,
    )
  expect(await refused({})).toContain('needs "url", or "start"')
  expect(await refused({ start })).toContain('one for each of the 3 processes, not 2')
})
