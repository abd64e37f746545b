import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sleep, SystemClock } from '../../src/base/clock.ts'
import { SupervisedChild } from '../../src/host/child-process.ts'
import { isAlive } from '../../src/host/process-identity.ts'
import { endLeftovers } from '../../src/host/worker-records.ts'
import { groupMembers, processTree } from '../../src/host/process-tree.ts'
import { soonest } from '../soonest.ts'
import { collect, createWorkerEngine, load, order, PROGRAMS, workerEntry } from './worker-fixtures.ts'
import { temporaryFolder } from '../host/temporary-folder.ts'

const clock = new SystemClock()

/** Milliseconds that a worker may live on when its server is gone (R15). */
const GONE = 2000

function alive(pid: number): boolean {
  return isAlive({ pid, startTime: null })
}

describe('a worker that dies', () => {
  it('mid-stream ends its run with worker_exited, the signal and its last log lines; the next load works (R11, M19)', async () => {
    const engine = createWorkerEngine()
    const model = await load(engine, { say: 'last words' })
    const running = collect(model, { parts: 1e6, every: 5 })
    const waiting = model.countTokens(order({ sleep: 60_000 }))
    await sleep(clock, 60)
    const killed = clock.now()
    process.kill(model.pid ?? 0, 'SIGKILL')
    await expect(running).rejects.toMatchObject({
      code: 'worker_exited',
      details: { model: 'obedient', pid: model.pid, signal: 'SIGKILL', logTail: ['last words'] },
    })
    expect(clock.now() - killed).toBeLessThan(10_000)
    await expect(waiting).rejects.toMatchObject({ code: 'worker_exited' })
    await expect(model.ping()).rejects.toMatchObject({ code: 'worker_exited' })
    await expect(model.memory()).rejects.toMatchObject({ code: 'worker_exited' })
    expect(await model.exited).toMatchObject({ expected: false, logTail: ['last words'] })
    const next = await load(engine)
    expect((await collect(next, { parts: 1 })).text).toBe('0 ')
    await next.unload()
  })

  it('by a native crash gives what came until then, then the error with the signal', async () => {
    const model = await load(createWorkerEngine())
    const stream = model.run(order({ parts: 9, every: 20, dieAt: 3, signal: 'SIGSEGV' }), {
      slot: 0,
      keptPrefix: 0,
      signal: new AbortController().signal,
    })
    const texts: string[] = []
    const reading = (async () => {
      for await (const part of stream) if (part.type === 'text') texts.push(part.text)
    })()
    await expect(reading).rejects.toMatchObject({
      code: 'worker_exited',
      details: { signal: 'SIGSEGV', crash: true },
    })
    expect(texts.join('')).toBe('0 1 2 ')
  })

  it('because its engine made what cannot be sent says so, and does not hang', async () => {
    const model = await load(createWorkerEngine())
    await expect(collect(model, { unclonable: true })).rejects.toMatchObject({ code: 'worker_exited' })
    expect((await model.exited).logTail.join('\n')).toContain('could not be cloned')
  })

  it('takes what it had started with it', async () => {
    const model = await load(createWorkerEngine(), { grandchild: true })
    const pid = model.pid ?? 0
    expect(processTree(pid)).toHaveLength(2)
    process.kill(pid, 'SIGKILL')
    await model.exited
    expect(groupMembers(pid)).toEqual([])
  })
})

describe('unload', () => {
  it('frees the process; twice is harmless, and later calls say that it is gone', async () => {
    const model = await load(createWorkerEngine())
    await Promise.all([model.unload(), model.unload()])
    expect(alive(model.pid ?? 0)).toBe(false)
    expect(await model.exited).toMatchObject({ expected: true })
    await model.unload()
    await expect(model.countTokens(order({}))).rejects.toMatchObject({ code: 'worker_exited' })
  })

  it('cuts a run with run_cut', async () => {
    const model = await load(createWorkerEngine())
    const running = collect(model, { hang: true })
    await sleep(clock, 50)
    const unloading = model.unload()
    await expect(running).rejects.toMatchObject({ code: 'run_cut' })
    await unloading
  })

  it('ends a worker that hangs in it and ignores SIGTERM, with everything it has started (BR-18)', async () => {
    const engine = createWorkerEngine({ deadlines: { unload: 300, terminate: 300 } })
    const model = await load(engine, { unloadHangs: true, ignoreSigterm: true, grandchild: true })
    const pid = model.pid ?? 0
    const started = clock.now()
    await model.unload()
    expect(clock.now() - started).toBeGreaterThan(550)
    expect(clock.now() - started).toBeLessThan(20_000)
    expect(await model.exited).toMatchObject({ expected: true })
    expect(groupMembers(pid)).toEqual([])
  })

  it('leaves no record of the worker, and a record stands while it lives (M16)', async () => {
    const recordsDirectory = temporaryFolder('records')
    const model = await load(createWorkerEngine({ recordsDirectory }))
    expect(readdirSync(recordsDirectory)).toEqual([
      expect.stringMatching(new RegExp(`^${model.pid}-.*json$`)),
    ])
    await model.unload()
    expect(readdirSync(recordsDirectory)).toEqual([])
  })
})

describe('no worker survives its server (R15, BR-19)', () => {
  async function serverWith(
    options: object,
    records = '',
  ): Promise<{ server: SupervisedChild; worker: number }> {
    const server = new SupervisedChild({
      command: process.execPath,
      args: [
        '--import',
        'jiti/register',
        join(PROGRAMS, 'dying-server.ts'),
        workerEntry(),
        records,
        JSON.stringify(options),
      ],
      clock,
    })
    await expect.poll(() => server.logTail.join('\n')).toContain('pid')
    const { pid } = JSON.parse(server.logTail.find((line) => line.includes('pid')) ?? '{}') as { pid: number }
    expect(alive(pid)).toBe(true)
    return { server, worker: pid }
  }

  async function goneAfter(pid: number): Promise<number> {
    const started = clock.now()
    while (alive(pid) && clock.now() - started < 20_000) await sleep(clock, 20)
    return clock.now() - started
  }

  /** Ends a server in a way. @returns the milliseconds that its worker lived on, at best */
  async function livesOn(
    options: object,
    end: (server: SupervisedChild) => Promise<unknown>,
  ): Promise<number> {
    return await soonest(async () => {
      const { server, worker } = await serverWith(options)
      await end(server)
      const took = await goneAfter(worker)
      await server.exited
      return took
    }, GONE)
  }

  const signalled = (signal: NodeJS.Signals) => async (server: SupervisedChild) =>
    process.kill(server.pid ?? 0, signal)

  it('that gets SIGKILL, within 2 s', async () => {
    expect(await livesOn({}, signalled('SIGKILL'))).toBeLessThan(GONE)
  })

  it('that gets SIGKILL while the worker is deep in native work and its event loop stands still, within 2 s', async () => {
    const took = await livesOn({ busy: { parts: 2, blockAt: 0, block: 60_000 } }, async (server) => {
      await sleep(clock, 200)
      process.kill(server.pid ?? 0, 'SIGKILL')
    })
    expect(took).toBeLessThan(GONE)
  })

  it('that gets SIGTERM, within 2 s', async () => {
    expect(await livesOn({}, signalled('SIGTERM'))).toBeLessThan(GONE)
  })

  it('that gets SIGKILL; what the worker had started itself is ended by the next start at the latest (M16)', async () => {
    const records = temporaryFolder('records')
    const { server, worker } = await serverWith({ grandchild: true }, records)
    expect(groupMembers(worker)).toHaveLength(2)
    process.kill(server.pid ?? 0, 'SIGKILL')
    await server.exited
    await goneAfter(worker)
    await endLeftovers(records, { clock })
    expect(groupMembers(worker)).toEqual([])
    expect(readdirSync(records)).toEqual([])
  })

  it('that exits without closing anything, within 2 s', async () => {
    expect(await livesOn({ end: 'exit' }, signalled('SIGUSR2'))).toBeLessThan(GONE)
  })

  it('that throws where nobody catches, within 2 s', async () => {
    const took = await livesOn({ end: 'throw' }, async (server) => {
      process.kill(server.pid ?? 0, 'SIGUSR2')
      expect(await server.exited).toMatchObject({ code: 1 })
    })
    expect(took).toBeLessThan(GONE)
  })
})
