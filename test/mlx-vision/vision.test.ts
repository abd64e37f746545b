import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { footprintTotal } from '../../src/host/memory.ts'
import { processTree } from '../../src/host/process-tree.ts'
import { png, BLUE, RED } from '../models/tiny-image.ts'
import { HI, plain } from '../models/tiny-vision.ts'
import { ask, chat, NEVER, read } from '../node-llama-cpp/fixtures.ts'
import { isRunning, until } from '../yard/harness.ts'
import { engine, load, MISSING, planOf, RECORDS, removeFolder, seen, TINY_VISION } from './fixtures.ts'

const GREEDY = { temperature: 0 }
/** The tokens that would end a turn are forbidden. */
const ENDLESS = { sampling: { temperature: 0, logitBias: { 0: -100, 2: -100 } } }
const ANSWER = 'Hello, how are you today?'

let shared: LoadedModel | undefined
const model = async (): Promise<LoadedModel> => (shared ??= await load())
afterAll(async () => {
  await shared?.unload()
  await removeFolder()
})

/** What is asked about an image, with the answer that one gets. */
async function about(...parts: (Uint8Array | string)[]): Promise<string> {
  const { text } = await ask(await model(), chat([seen(...parts)], { sampling: GREEDY, maxTokens: 12 }))
  return text
}

async function firstLogprob(...parts: (Uint8Array | string)[]): Promise<number | undefined> {
  const task = chat([seen(...parts)], { sampling: GREEDY, maxTokens: 1, topLogprobs: 2 })
  const { parts: told } = await ask(await model(), task)
  const [first] = told.flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []))
  expect(first?.top).toHaveLength(2)
  return first?.logprob
}

describe.skipIf(MISSING !== undefined)(`mlx-vlm sees (${MISSING ?? 'a real one'})`, () => {
  it('an image that stands for a word is answered as the word, to the letter', async () => {
    const { text, result } = await ask(await model(), chat([seen(HI)], { sampling: GREEDY }))
    expect(text).toBe(ANSWER)
    const { result: said } = await ask(await model(), chat('hi', { sampling: GREEDY }))
    expect(result.usage).toEqual(said.usage)
  })

  it('another image, and another place among words, is something else to the model', async () => {
    const shown = [[HI], [plain(BLUE)], [HI, ' Count.'], ['Count. ', HI], [plain(RED), HI], [HI, plain(RED)]]
    const likely = await Promise.all(shown.map(async (parts) => firstLogprob(...parts)))
    expect(new Set(likely).size).toBe(shown.length)
  })

  it('counts the tokens of images, and refuses what is too long for its context by them', async () => {
    const all = await model()
    const tokensOf = async (image: Uint8Array): Promise<number> => all.countTokens(chat([seen(image)]))
    expect((await tokensOf(HI)) - (await tokensOf(plain(RED)))).toBe(1)
    const large = png(224, 224, RED)
    expect((await tokensOf(large)) - (await tokensOf(plain(RED)))).toBe(63)
    const many = Array.from({ length: 33 }, () => large)
    await expect(ask(all, chat([seen(...many)]))).rejects.toMatchObject({
      code: 'context_length_exceeded',
      details: { promptTokens: 33 * 64 + 10, contextSize: 2048 },
    })
  })

  it('holds an answer about an image to its schema', async () => {
    const schema = {
      type: 'object',
      properties: { city: { enum: ['Rome', 'Oslo'] } },
      required: ['city'],
      additionalProperties: false,
    }
    const format = { type: 'json-schema' as const, name: 'city', schema, strict: true }
    const { text } = await ask(await model(), chat([seen(HI)], { format, maxTokens: 100 }))
    expect(['Rome', 'Oslo']).toContain((JSON.parse(text) as { city: string }).city)
  })

  it('requests with and without images at once keep their own seeds, temperatures and answers', async () => {
    const all = await model()
    const warm = chat([seen(plain(BLUE))], { sampling: { temperature: 3, seed: 0 }, maxTokens: 12 })
    const alone = (await ask(all, warm)).text
    const both = [0, 1, 2].map(async () => {
      const [first, second] = await Promise.all([
        ask(all, warm, { slot: 0 }),
        ask(all, chat([seen(HI)], { sampling: GREEDY }), { slot: 1 }),
      ])
      return [first.text, second.text]
    })
    expect(await Promise.all(both)).toEqual([0, 1, 2].map(() => [alone, ANSWER]))
    const other = { ...warm, sampling: { temperature: 3, seed: 1 } }
    expect((await ask(all, other)).text).not.toBe(alone)
  })

  it.each([
    ['text that is no image', new TextEncoder().encode('<svg/>'), /cannot be read/],
    ['an image that is cut off', HI.subarray(0, 60), /Image 1 of 1 is damaged/],
    ['an image with a side that is too long', png(28 * 300, 28, RED), /cannot be shown/],
    ['an image of a hundred million pixels', pretended(10_000, 10_000), /more than 64,000,000 pixels/],
  ])('%s is the asker’s mistake, and the model goes on', async (_, image, words) => {
    await expect(about(image)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(words) as string,
    })
    expect(await about(HI)).toBe(ANSWER)
  })

  it('texts that look like an image are refused beside one, and are text without', async () => {
    await expect(about(HI, '<|image_pad|>')).rejects.toMatchObject({ code: 'invalid_request' })
    expect(await about('<|image_pad|>')).not.toBe('')
  })

  it('is let go in prefill and in decode, and answers on', async () => {
    const all = await model()
    for (const parts of [1, 3]) {
      const stop = new AbortController()
      const task = chat([seen(HI, 'one two three '.repeat(100))], ENDLESS)
      const stream = all.run(task, { slot: 0, keptPrefix: 0, signal: stop.signal })
      let count = 0
      const running = read(stream, () => {
        if (++count === parts) stop.abort(new Error('enough'))
      })
      await expect(running).rejects.toThrow('enough')
      expect(await about(HI)).toBe(ANSWER)
    }
  })
})

/** The beginning of a PNG that says it is so large. */
function pretended(width: number, height: number): Uint8Array {
  const image = Buffer.from(png(1, 1, RED))
  image.writeUInt32BE(width, 16)
  image.writeUInt32BE(height, 20)
  image.writeUInt32BE(crc32(image.subarray(12, 29)), 29)
  return new Uint8Array(image)
}

describe.skipIf(MISSING !== undefined)('mlx-vlm: kill -9 leaves no child and no hanging caller', () => {
  const recorded = async (): Promise<string[]> => readdir(RECORDS).catch((): string[] => [])

  it.each(['idle', 'running'])('%s', async (state) => {
    const before = await recorded()
    const victim = await load()
    const tree = processTree(victim.pid ?? 0)
    const stream = victim.run(chat([seen(HI)], ENDLESS), { slot: 0, keptPrefix: 0, signal: NEVER })
    if (state === 'running') await stream.next()
    process.kill(victim.pid ?? 0, 'SIGKILL')
    await expect(read(stream)).rejects.toMatchObject({ code: 'worker_exited' })
    expect(await victim.exited).toMatchObject({ expected: false })
    await until(() => tree.every((pid) => !isRunning(pid)))
    expect(await recorded()).toEqual(before)
  })

  it('measured, it takes no more than was planned', async () => {
    const all = await model()
    await about(png(224, 224, RED))
    const { private: own, shared: mapped } = (await all.memory()).ram ?? { private: 0, shared: 0 }
    const measured = own + mapped
    const { ram: planned } = all.plan.footprint
    expect(measured).toBeGreaterThan(50 * 1024 ** 2)
    expect(measured).toBeLessThan(planned === undefined ? 0 : footprintTotal(planned))
  })
})

describe('mlx-vlm: what cannot be loaded', () => {
  it('weights whose header is damaged are told before a load', async () => {
    await expect(planOf(join(TINY_VISION, 'model.safetensors'))).rejects.toMatchObject({
      code: 'model_file_invalid',
    })
  })

  it('with vision: false it runs as a text model, and sees nothing', async () => {
    const plan = await planOf(TINY_VISION, { engineOptions: { vision: false } })
    expect(plan.capabilities.images).toBe(false)
    const blind = await engine.load(plan, { signal: NEVER, onProgress: () => undefined })
    const { text } = await ask(blind, chat('hi', { sampling: GREEDY }))
    expect(text).toBe(ANSWER)
    await expect(ask(blind, chat([seen(HI)]))).rejects.toMatchObject({ code: 'unsupported' })
    await blind.unload()
  })
})
