import { readdirSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KNOWN_ARCHITECTURES } from '../../src/engines/llama-cpp/known-architectures.ts'
import type { LoadProgress } from '../../src/engines/engine.ts'
import { PROCESS_BASE } from '../../src/engines/llama-cpp/footprint.ts'
import { NodeLlamaCppEngine } from '../../src/engines/node-llama-cpp/node-llama-cpp-engine.ts'
import { ownMemory } from '../../src/engines/in-process/own-memory.ts'
import { footprintTotal, type FootprintTerms, type MeasuredFootprint } from '../../src/host/memory.ts'
import { makeTinyLora, makeTinyModel } from '../models/make-tiny-gguf.ts'
import { ENGINES_DIRECTORY, removeFolder, temporaryFolder, TINY_CHAT } from '../models/paths.ts'
import { ask, chat, completion, engine, load, NEVER, planOf } from './fixtures.ts'

let folder: string
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(async () => removeFolder(folder))

describe('finding the package', () => {
  it('tells its version without loading anything native', async () => {
    expect(await engine.detect()).toMatchObject({
      available: true,
      version: expect.stringMatching(/^3\.2\d\./) as string,
    })
    expect(readFileSync('/proc/self/maps', 'latin1')).not.toContain('llama-addon')
  })

  it('says what to do when it is not there', async () => {
    const nowhere = new NodeLlamaCppEngine({ enginesDirectory: folder })
    expect(await nowhere.detect()).toEqual({
      available: false,
      reason: `The package node-llama-cpp is not installed in ${folder}.`,
      remedy:
        'Run `modelyard engines install node-llama-cpp`, with MODELYARD_HOME where the home is another than usual.',
    })
  })

  it('says so of a version whose behaviour is not known, and of one without a binary', async () => {
    const directory = `${folder}/engines/node-llama-cpp/node_modules/node-llama-cpp`
    await mkdir(directory, { recursive: true })
    const other = new NodeLlamaCppEngine({ enginesDirectory: `${folder}/engines` })
    await writeFile(`${directory}/package.json`, '{"version": "2.8.0"}')
    expect(await other.detect()).toMatchObject({ available: false, reason: /2\.8\.0.*3\.21/ })
    await writeFile(`${directory}/package.json`, '{"version": "3.21.1"}')
    expect(await other.detect()).toMatchObject({ available: false, reason: /no binary/ })
  })
})

describe('what the engine knows (M17)', () => {
  it('has every architecture that plans accept', () => {
    const binaries = join(ENGINES_DIRECTORY, 'node-llama-cpp/node_modules/@node-llama-cpp')
    const libraries = readdirSync(binaries, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /libllama\.[^/]*$/.test(name),
    )
    expect(libraries.length).toBeGreaterThan(0)
    for (const library of libraries) {
      const bytes = readFileSync(join(binaries, library))
      // Equal ends of texts are stored once, so only the end of each is certain.
      const missing = [...KNOWN_ARCHITECTURES].filter((name) => !bytes.includes(`${name}\0`))
      expect(missing).toEqual([])
    }
  })
})

describe('loading', () => {
  it('tells its stages in order', async () => {
    const stages: LoadProgress['stage'][] = []
    const model = await engine.load(await planOf(TINY_CHAT), {
      signal: NEVER,
      onProgress: ({ stage }) => stages.push(stage),
    })
    expect([...new Set(stages)]).toEqual(['starting', 'loading', 'preparing'])
    await model.warmUp(NEVER)
    expect(model.lastProgress).toBeGreaterThan(0)
    expect((await ask(model, chat('hi'), { keptPrefix: 1 })).result.usage.cachedTokens).toBe(0)
    await model.ping()
    await model.unload()
  })

  it('given up, before or in the middle, rejects and leaves the next load alone', async () => {
    const plan = await planOf(TINY_CHAT)
    const early = AbortSignal.abort(new Error('too late'))
    await expect(engine.load(plan, { signal: early, onProgress: () => undefined })).rejects.toMatchObject({
      code: 'aborted',
    })
    for (const stage of ['starting', 'loading', 'preparing'] as const) {
      const abort = new AbortController()
      const progress = (now: LoadProgress): void => {
        if (now.stage === stage) abort.abort(new Error('given up'))
      }
      const loading = engine.load(plan, { signal: abort.signal, onProgress: progress })
      await expect(loading).rejects.toMatchObject({ code: 'aborted' })
    }
    const model = await load(TINY_CHAT)
    expect((await ask(model, chat('hi'))).text).toBe('Hello, how are you today?')
    await model.unload()
  })

  it('of several models in one process, side by side', async () => {
    const noise = makeTinyModel(`${folder}/side.gguf`).path
    const [first, second] = await Promise.all([load(TINY_CHAT), load(noise)])
    const answers = await Promise.all([
      ask(first, chat('hi')),
      ask(second, completion('user', { maxTokens: 5 })),
    ])
    expect(answers[0].text).toBe('Hello, how are you today?')
    expect(answers[1].result.usage.completionTokens).toBe(5)
    await first.unload()
    expect((await ask(second, completion('user', { maxTokens: 5 }))).text).toBe(answers[1].text)
    await second.unload()
  })

  it('E8: with an adapter changes the answer', async () => {
    const base = makeTinyModel(`${folder}/base.gguf`).path
    makeTinyLora(`${folder}/lora.gguf`, { scale: 1 })
    const task = completion('the model', { maxTokens: 12 })
    const plain = await load(base)
    const without = await ask(plain, task)
    await plain.unload()
    const adapted = await load(base, { engineOptions: { lora: [{ path: `${folder}/lora.gguf` }] } })
    expect((await ask(adapted, task)).text).not.toBe(without.text)
    await adapted.unload()
  })

  it('E8: with options of the cache gives sound answers', async () => {
    for (const engineOptions of [
      { kvCacheType: 'q8_0', flashAttention: true },
      { kvCacheType: 'f32', batchSize: 16, memoryMap: false },
    ]) {
      const model = await load(TINY_CHAT, { engineOptions })
      expect((await ask(model, chat('Count.'))).text).toBe('one two three four five six seven eight nine ten')
      await model.unload()
    }
  })
})

describe('a load that cannot succeed', () => {
  it('R11: a damaged file is told as such, with the last words of the log', async () => {
    const path = makeTinyModel(`${folder}/damaged.gguf`).path
    const plan = await planOf(path)
    await truncate(path, 200_000)
    const failure = await engine
      .load(plan, { signal: NEVER, onProgress: () => undefined })
      .catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'model_load_failed', details: { failure: 'bad_file' } })
    expect((failure as { details: { logTail: string[] } }).details.logTail.join('\n')).toMatch(
      /damaged|tensor|bounds/,
    )
  })

  it('BR-26: a file that is gone is told as such; a loaded copy goes on', async () => {
    const path = `${folder}/going.gguf`
    await copyFile(TINY_CHAT, path)
    const plan = await planOf(path)
    const model = await load(path)
    await rm(path)
    expect((await ask(model, chat('hi'))).text).toBe('Hello, how are you today?')
    await model.unload()
    await expect(engine.load(plan, { signal: NEVER, onProgress: () => undefined })).rejects.toMatchObject({
      code: 'model_load_failed',
      message: /gone/,
      details: { failure: 'bad_file' },
    })
  })

  it('BR-26: a file that was replaced by a rename changes nothing for the copy that is loaded', async () => {
    const path = `${folder}/replaced.gguf`
    await copyFile(TINY_CHAT, path)
    const model = await load(path)
    const other = makeTinyModel(`${folder}/successor.gguf`).path
    await rename(other, path)
    expect((await ask(model, chat('hi'))).text).toBe('Hello, how are you today?')
    await model.unload()
  })

  it('R11: a wrong adapter is a wrong option', async () => {
    makeTinyLora(`${folder}/wide.gguf`, { dimension: 128 })
    const path = makeTinyModel(`${folder}/narrow.gguf`).path
    const failing = load(path, { engineOptions: { lora: [{ path: `${folder}/wide.gguf` }] } })
    await expect(failing).rejects.toMatchObject({
      code: 'model_load_failed',
      details: { failure: 'bad_option' },
    })
  })

  it('a GPU that is demanded and not there is a wrong option', async () => {
    const failing = load(TINY_CHAT, { device: { gpu: true, memoryLock: false } })
    await expect(failing).rejects.toMatchObject({
      code: 'model_load_failed',
      details: { failure: 'bad_option' },
    })
  })

  it('a template that cannot be read fails the load, not the first request', async () => {
    const { path } = makeTinyModel(`${folder}/template.gguf`, { chatTemplate: '{% if %}' })
    await expect(load(path)).rejects.toMatchObject({ code: 'unsupported' })
  })

  it('does not harm the process: the next load works', async () => {
    const model = await load(TINY_CHAT)
    expect((await ask(model, chat('hi'))).text).toBe('Hello, how are you today?')
    await model.unload()
  })
})

describe('memory', () => {
  it('grows by what the plan says beyond the bare process, within 20 %', async () => {
    const { path } = makeTinyModel(`${folder}/heavy.gguf`, {
      dimension: 256,
      layers: 8,
      heads: 8,
      keyValueHeads: 8,
      feedForward: 512,
      context: 4096,
      type: 'q8_0',
      vocabularySize: 8000,
    })
    const { ram } = (await planOf(path, { slots: 4, context: 4096 })).footprint
    const planned = footprintTotal(ram as FootprintTerms) - PROCESS_BASE
    const before = await ownMemory()
    const model = await load(path, { slots: 4, context: 4096 })
    const prompt = completion('the model and the server '.repeat(60), { maxTokens: 4 })
    await Promise.all([0, 1, 2, 3].map(async (slot) => ask(model, prompt, { slot })))
    const after = await model.memory()
    const grown = total(after) - total(before)
    await model.unload()
    expect(grown / planned).toBeGreaterThan(0.8)
    expect(grown / planned).toBeLessThan(1.2)
  })

  it('goes back when the model is unloaded, time after time', async () => {
    const { path } = makeTinyModel(`${folder}/back.gguf`, { layers: 8, context: 8192 })
    const idle: number[] = []
    for (let count = 0; count < 3; count++) {
      const model = await load(path, { slots: 8, context: 8192 })
      const loaded = total(await model.memory())
      await model.unload()
      idle.push(total(await ownMemory()))
      // Its context alone has 64 MiB.
      expect(loaded - (idle.at(-1) ?? 0)).toBeGreaterThan(50 * 1024 ** 2)
    }
    expect((idle[2] ?? 0) - (idle[0] ?? 0)).toBeLessThan(30 * 1024 ** 2)
  })
})

function total({ ram }: MeasuredFootprint): number {
  return (ram?.private ?? 0) + (ram?.shared ?? 0)
}
