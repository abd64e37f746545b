import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Yard } from '../../src/yard.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { HAS_LLAMA, openHome, ownYards, until, user } from '../yard/harness.ts'

const TEXT = 'the model and the server '.repeat(12)
/** Computing so little of so small a model again is quicker than reading it. */
const ALWAYS = { parking: 'always' } as const
const BEGINNING = { role: 'system' as const, content: TEXT }

async function computed(yard: Yard, name: string): Promise<number> {
  const messages = [BEGINNING, user(name)]
  const { result } = await yard.chat({ model: 'a', messages, temperature: 0, maxTokens: 4 }).answer()
  return result.usage.promptTokens - result.usage.cachedTokens
}

describe.runIf(HAS_LLAMA)('P7: beginnings that are evaluated ahead, with real weights', () => {
  const test = ownYards()
  let a: { file: string; context: number; slots: number; isolation: 'none' }
  beforeEach(() => {
    const { path: file } = makeTinyModel(join(test.home.path, 'a.gguf'))
    a = { file, context: 512, slots: 2, isolation: 'none' }
  })

  it('spare whoever begins alike from computing them, after an unload and after a restart', async () => {
    const yard = await test.open({ models: { a }, contexts: ALWAYS })
    const { tokens, cachedTokens, kept } = await yard.warm({ model: 'a', messages: [BEGINNING] })
    expect([tokens > 60, cachedTokens, kept]).toEqual([true, 0, true])
    expect(await computed(yard, 'one')).toBeLessThan(25)
    await yard.unloadModel('a')
    expect(await computed(yard, 'two')).toBeLessThan(25)
    await yard.stop()
    const again = await test.open({ models: { a }, contexts: ALWAYS })
    expect(again.listContexts().filter(({ kept: isKept }) => isKept)).toHaveLength(1)
    expect(await computed(again, 'three')).toBeLessThan(25)
    expect((await again.warm({ model: 'a', messages: [BEGINNING] })).cachedTokens).toBeGreaterThan(
      tokens - 25,
    )
  })

  it('stay beside the conversations that begin with them', async () => {
    const yard = await test.open({ models: { a }, contexts: ALWAYS })
    await yard.warm({ model: 'a', messages: [BEGINNING] })
    for (const name of ['one', 'two', 'three', 'four']) await computed(yard, name)
    await yard.unloadModel('a')
    expect(yard.listContexts().filter(({ kept: isKept }) => isKept)).toHaveLength(1)
    expect(yard.listContexts().length).toBeGreaterThan(2)
  })

  it('`initialMessages` and `prefix` are evaluated when the model is loaded, and not again after a restart', async () => {
    const models = {
      a: { ...a, initialMessages: [BEGINNING], prefix: 'the server and the user '.repeat(60) },
    }
    const yard = await test.open({ models, contexts: ALWAYS })
    await yard.loadModel('a')
    await until(
      async () => yard.listContexts().filter(({ kept, state }) => kept && state === 'parked').length === 2,
    )
    expect(await computed(yard, 'one')).toBeLessThan(25)
    const prompt = `${models.a.prefix}model`
    const { result } = await yard.complete({ model: 'a', prompt, temperature: 0, maxTokens: 2 }).answer()
    expect(result.usage.promptTokens - result.usage.cachedTokens).toBeLessThan(25)
    await yard.stop()
    const again = await test.open({ models, contexts: ALWAYS })
    let runs = 0
    again.subscribe(({ name }) => (runs += name === 'run-finished' ? 1 : 0))
    await again.loadModel('a')
    expect(await computed(again, 'two')).toBeLessThan(25)
    expect(runs).toBe(1)
  })

  it('what is wrong with them is said', async () => {
    const yard = await test.open({ models: { a } })
    await expect(yard.warm({ model: 'a' })).rejects.toThrow('messages: give either messages')
    await expect(yard.warm({ model: 'nobody', prompt: 'x' })).rejects.toMatchObject({
      code: 'model_not_found',
    })
    await expect(yard.warm({ model: 'a', prompt: 'the '.repeat(2000) })).rejects.toMatchObject({
      code: 'context_length_exceeded',
    })
  })

  it('`modelyard warm MODEL FILE` and POST /api/yard/warm do the same', { timeout: 60_000 }, async () => {
    const home = await openHome({ models: { a: { ...a, isolation: 'worker' } } })
    const server = await home.serve()
    const file = join(home.path, 'system.txt')
    await writeFile(file, TEXT)
    const { code, out } = await home.run(['warm', 'a', file])
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^a has evaluated \d+ tokens in .+, and keeps them\.\n$/),
    ])
    const json = join(home.path, 'agent.json')
    await writeFile(json, JSON.stringify({ messages: [BEGINNING] }))
    const again = JSON.parse((await home.run(['warm', 'a', json, '--json'])).out) as { cachedTokens: number }
    expect(again.cachedTokens).toBeGreaterThan(40)
    const ask = async (body: object): Promise<Response> =>
      fetch(`${server.url}/api/yard/warm`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    expect(await (await ask({ model: 'a', messages: [BEGINNING] })).json()).toMatchObject({ model: 'a' })
    expect((await ask({ model: 'a', mesages: [] })).status).toBe(400)
    expect((await ask({ model: 'a' })).status).toBe(400)
    await writeFile(json, 'nonsense')
    expect(await home.run(['warm', 'a', json])).toMatchObject({
      code: 2,
      err: expect.stringContaining('is no JSON') as string,
    })
    expect((await home.run(['warm', 'a', join(home.path, 'nowhere')])).err).toContain('cannot be read')
  })
})
