import { copyFileSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { sleep, SystemClock } from '../../src/base/clock.ts'
import type { Engine, LoadedModel, LoadPlan } from '../../src/engines/engine.ts'
import { NodeLlamaCppEngine } from '../../src/engines/node-llama-cpp/node-llama-cpp-engine.ts'
import { ScriptedEngine } from '../../src/engines/scripted/scripted-engine.ts'
import { WorkerEngine } from '../../src/engines/worker/worker-engine.ts'
import { temporaryFolder } from '../host/temporary-folder.ts'
import { ENGINES_DIRECTORY, fetched, TINY_CHAT } from '../models/paths.ts'
import { ask, chat, factsOf, HOST, specOf } from '../node-llama-cpp/fixtures.ts'
import { AT_ONCE, soonest } from '../soonest.ts'
import { planFor, workerEntry } from './worker-fixtures.ts'

const clock = new SystemClock()
const opened: LoadedModel[] = []

async function loadInWorker(inner: Engine, plan: LoadPlan): Promise<LoadedModel> {
  const engineOptions = inner.name === 'node-llama-cpp' ? { enginesDirectory: ENGINES_DIRECTORY } : {}
  const engine = new WorkerEngine({ engine: inner.name, inner, clock, entry: workerEntry(), engineOptions })
  const model = await engine.load(plan, { signal: new AbortController().signal, onProgress: () => undefined })
  opened.push(model)
  return model
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((model) => model.unload()))
})

describe('the scripted engine in a worker', () => {
  const inner = new ScriptedEngine()

  function scripted(options: Record<string, unknown>): Promise<LoadedModel> {
    const { facts } = planFor()
    return loadInWorker(inner, inner.plan(specOf({ engine: 'scripted', engineOptions: options }), facts))
  }

  it('answers by its script', async () => {
    const model = await scripted({ script: [{ match: 'hi', text: 'Hello there.' }] })
    const { text, result } = await ask(model, chat('hi'))
    expect(text).toBe('Hello there.')
    expect(result.finishReason).toBe('stop')
  })

  it('that ends its process in the middle of an answer is a worker that died', async () => {
    const model = await scripted({ script: [{ text: ['a', 'b', 'c'], exitAt: 2, delay: 5 }] })
    await expect(ask(model, chat('hi'))).rejects.toMatchObject({ code: 'worker_exited' })
    expect(await model.exited).toMatchObject({ expected: false })
  })
})

const installed = fetched(join(ENGINES_DIRECTORY, 'node-llama-cpp/node_modules'))

describe.runIf(installed)('llama.cpp in a worker', () => {
  const inner = new NodeLlamaCppEngine({ enginesDirectory: ENGINES_DIRECTORY })

  async function tinyChat(path = TINY_CHAT): Promise<LoadedModel> {
    return loadInWorker(inner, inner.plan(specOf(), await factsOf(path), HOST))
  }

  /** Never ends by itself: the tokens that would end the turn are forbidden. About 3 s of text. */
  const endless = chat('Count.', { maxTokens: 1900, sampling: { logitBias: { 0: -100, 2: -100 } } })

  it('answers as in-process', async () => {
    const model = await tinyChat()
    await model.warmUp(new AbortController().signal)
    expect((await ask(model, chat('hi'))).text).toBe('Hello, how are you today?')
  })

  it('keeps a prefix over two turns', async () => {
    const model = await tinyChat()
    const first = await ask(model, chat('hi'))
    const messages = [
      { role: 'user' as const, content: 'hi' },
      { role: 'assistant' as const, content: first.text },
      { role: 'user' as const, content: 'Count.' },
    ]
    const second = await ask(model, chat(messages), { keptPrefix: 2 })
    expect(second.result.usage.cachedTokens).toBeGreaterThan(5)
  })

  it('obeys an abort within 250 ms and answers the next', async () => {
    const model = await tinyChat()
    const took = await soonest(async () => {
      const abort = new AbortController()
      const running = ask(model, endless, { signal: abort.signal })
      await sleep(clock, 100)
      const aborted = clock.now()
      abort.abort()
      await expect(running).rejects.toMatchObject({ code: 'aborted' })
      return clock.now() - aborted
    })
    expect(took).toBeLessThan(AT_ONCE)
    expect((await ask(model, chat('hi'))).text).toBe('Hello, how are you today?')
  })

  it('that is killed in the middle of an answer takes nobody with it', async () => {
    const model = await tinyChat()
    const running = ask(model, endless)
    await sleep(clock, 50)
    process.kill(model.pid ?? 0, 'SIGKILL')
    await expect(running).rejects.toMatchObject({ code: 'worker_exited', details: { signal: 'SIGKILL' } })
    expect((await ask(await tinyChat(), chat('hi'))).text).toBe('Hello, how are you today?')
  })

  it('whose file is removed goes on; whose file is cut short dies alone, and is reported (BR-26)', async () => {
    const path = join(temporaryFolder('model'), 'a model é.gguf')
    copyFileSync(TINY_CHAT, path)
    const [removed, kept] = [await tinyChat(path), join(path, '../copy.gguf')]
    copyFileSync(path, kept)
    rmSync(path)
    expect((await ask(removed, chat('hi'))).text).toBe('Hello, how are you today?')
    const cut = await tinyChat(kept)
    truncateSync(kept, 4096)
    await expect(ask(cut, chat('hi'))).rejects.toMatchObject({
      code: 'worker_exited',
      details: { signal: 'SIGBUS' },
    })
    expect((await ask(removed, chat('hi'))).text).toBe('Hello, how are you today?')
  })
})
