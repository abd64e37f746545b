import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sleep, SystemClock } from '../../src/base/clock.ts'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { SupervisedChild } from '../../src/host/child-process.ts'
import { isAlive } from '../../src/host/process-identity.ts'
import type { ChatTask } from '../../src/tasks/chat-task.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { ask, chat, factsOf, HOST, NEVER, specOf } from '../node-llama-cpp/fixtures.ts'
import { soonest } from '../soonest.ts'
import { PROGRAMS } from '../worker/worker-fixtures.ts'
import { HAS_SERVER, loadServer, processesWith, serverEngine } from './fixtures.ts'

const clock = new SystemClock()
const NO_END = { temperature: 0, logitBias: { 0: -100, 2: -100 } }
const endless = chat('Count.', { sampling: NO_END })
const longPrompt = chat('one two three '.repeat(150), { sampling: NO_END })

function kill(model: LoadedModel): void {
  process.kill(model.pid ?? 0, 'SIGKILL')
}

/** Runs a task, kills the process after a while, and waits for how the run ends. @returns milliseconds until everybody knew */
async function killedDuring(task: ChatTask, after: number): Promise<number> {
  const model = await loadServer(TINY_CHAT, { id: 'killed', context: 2048 })
  const running = ask(model, task)
  running.catch(() => undefined)
  await sleep(clock, after)
  kill(model)
  const begun = clock.now()
  await expect(running).rejects.toMatchObject({ code: 'worker_exited', details: { signal: 'SIGKILL' } })
  expect(await model.exited).toMatchObject({ expected: false })
  const took = clock.now() - begun
  await expect(model.memory()).rejects.toMatchObject({ code: 'worker_exited' })
  await model.unload()
  expect(processesWith('--alias killed')).toEqual([])
  return took
}

describe.runIf(HAS_SERVER && process.platform === 'linux')('kill -9 of a real llama-server', () => {
  it('while it decodes: the run ends with the signal at once, and nothing is left', async () => {
    expect(await soonest(() => killedDuring(endless, 150), 2000)).toBeLessThan(2000)
  })

  it('while it evaluates a prompt: likewise', async () => {
    expect(await soonest(() => killedDuring(longPrompt, 10), 2000)).toBeLessThan(2000)
  })

  it('while it is idle: its exit is seen, and the next load works', async () => {
    const model = await loadServer(TINY_CHAT, { id: 'killed' })
    kill(model)
    expect(await model.exited).toMatchObject({ expected: false })
    await expect(ask(model, chat('hi'))).rejects.toMatchObject({ code: 'worker_exited' })
    const next = await loadServer(TINY_CHAT, { id: 'killed' })
    expect((await ask(next, chat('hi'))).text).toBe('Hello, how are you today?')
    await next.unload()
    expect(processesWith('--alias killed')).toEqual([])
  })

  it('while it loads: the load fails with its class', async () => {
    const engine = serverEngine()
    const plan = engine.plan(specOf({ id: 'killed' }), await factsOf(TINY_CHAT), HOST)
    const loading = engine.load(plan, { signal: NEVER, onProgress: () => undefined })
    loading.catch(() => undefined)
    let found: number[] = []
    while (found.length === 0) {
      await sleep(clock, 2)
      found = processesWith('--alias killed')
    }
    for (const pid of found) process.kill(pid, 'SIGKILL')
    await expect(loading).rejects.toMatchObject({ code: 'model_load_failed', details: { signal: 'SIGKILL' } })
    expect(processesWith('--alias killed')).toEqual([])
  })

  it('while it is unloaded with a run under way: everybody is answered', async () => {
    const model = await loadServer(TINY_CHAT, { id: 'killed' })
    const running = ask(model, endless)
    running.catch(() => undefined)
    await sleep(clock, 100)
    const unloaded = model.unload()
    kill(model)
    await unloaded
    await expect(running).rejects.toMatchObject({ code: 'run_cut' })
    expect(processesWith('--alias killed')).toEqual([])
  })

  it('of the server that started it, in the middle of an answer: it is gone within 2 s (R15)', async () => {
    const parent = new SupervisedChild({
      command: process.execPath,
      args: [
        join(PROGRAMS, '../../node_modules/jiti/lib/jiti-cli.mjs'),
        join(PROGRAMS, 'dying-llama-server.ts'),
      ],
      clock,
    })
    while (!parent.logTail.some((line) => line.startsWith('{'))) await sleep(clock, 20)
    const { pid } = JSON.parse(parent.logTail.find((line) => line.startsWith('{')) ?? '') as { pid: number }
    expect(isAlive({ pid, startTime: null })).toBe(true)
    // The server alone: its group would take the worker with it.
    process.kill(parent.pid ?? 0, 'SIGKILL')
    const begun = clock.now()
    while (isAlive({ pid, startTime: null }) && clock.now() - begun < 2000) await sleep(clock, 20)
    expect(isAlive({ pid, startTime: null })).toBe(false)
  })
})
