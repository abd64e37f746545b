import { describe, expect, it } from 'vitest'
import type { ScriptEntry } from '../../src/engines/scripted/scripted-options.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { ownYards, TALKER, user } from './harness.ts'

const ECHO: { engine: 'scripted'; script: ScriptEntry[] } = {
  engine: 'scripted',
  script: [{ echo: 'prompt' }],
}

describe('models made of others', () => {
  const yards = ownYards()

  it('answer in the library too, with leases of the one they stand on', async () => {
    const yard = await yards.open({ models: { plain: { ...ECHO, aliases: ['other'] } } })
    yard.collection.make('mario', { from: 'other', system: 'You are Mario.', defaults: { maxTokens: 4 } })
    expect(await yard.chat({ model: 'mario', messages: [user('Hi')] }).text()).toBe('You are Mario. Hi')
    expect(
      await yard.countTokens('mario', { kind: 'chat', messages: [user('Hi')], sampling: {}, stop: [] }),
    ).toBe(9)
    await using lease = await yard.pool.acquire({ model: 'mario:latest' })
    expect(lease.instance).toBe('plain#1')
    expect((await yard.listModels()).map(({ id, aliases }) => [id, aliases])).toEqual([
      ['plain', ['other']],
      ['mario', []],
    ])
  })

  it('one made of another one has what both say', async () => {
    const yard = await yards.open({ models: { plain: ECHO } })
    const { collection } = yard
    collection.make('a', { from: 'plain', system: 'A.', defaults: { temperature: 0, topK: 3 } })
    collection.make('b', { from: 'a', defaults: { topK: 5 }, stop: ['x'] })
    expect(await collection.describe('b')).toMatchObject({
      id: 'b',
      system: 'A.',
      defaults: { temperature: 0, topK: 5 },
      recipe: { from: 'plain', stop: ['x'] },
    })
    await collection.remove('a')
    expect(await yard.chat({ model: 'b', messages: [user('Hi')] }).text()).toBe('A. Hi')
    const digests = await Promise.all(
      ['plain', 'b'].map(async (name) => (await collection.describe(name)).digest),
    )
    expect(new Set(digests).size).toBe(2)
  })

  it('a model that is configured under the name later takes it, and the recipe waits', async () => {
    const first = await yards.open({ models: { plain: ECHO } })
    first.collection.make('mario', { from: 'plain', system: 'Made.', defaults: {} })
    await first.stop()
    const second = await yards.open({ models: { plain: ECHO, mario: TALKER } })
    expect(await second.chat({ model: 'mario', messages: [user('Hi')] }).text()).toBe('Hello')
    expect((await second.listModels()).map(({ id }) => id)).toEqual(['plain', 'mario'])
    expect(() => second.collection.make('mario', { from: 'plain', defaults: {} })).toThrow(
      'choose another name',
    )
    await second.stop()
    const third = await yards.open({ models: { plain: ECHO } })
    expect(await third.chat({ model: 'mario', messages: [user('Hi')] }).text()).toBe('Made. Hi')
  })

  it('one whose base is gone is listed no more, and says what is missing', async () => {
    const first = await yards.open({ models: { plain: ECHO } })
    first.collection.make('mario', { from: 'plain', defaults: {} })
    await first.stop()
    const second = await yards.open({ models: { other: ECHO } })
    expect((await second.listModels()).map(({ id }) => id)).toEqual(['other'])
    await expect(second.collection.describe('mario')).rejects.toMatchObject({ code: 'model_not_found' })
  })
})

describe('what is known of models', () => {
  const yards = ownYards()

  it('files of one’s own are described and never removed; looking at a model does not fetch it', async () => {
    const yard = await yards.open({
      models: {
        tiny: { source: TINY_CHAT },
        far: { source: 'https://example.invalid/model.gguf' },
        made: TALKER,
      },
    })
    const [tiny, far, made] = await yard.collection.describeAll()
    expect(tiny).toMatchObject({
      id: 'tiny',
      contextLength: 2048,
      facts: { format: 'gguf' },
      bytes: 1_459_296,
    })
    expect(far).toMatchObject({ id: 'far', facts: null, capabilities: null, bytes: 0 })
    expect(made).toMatchObject({
      id: 'made',
      facts: null,
      capabilities: { tasks: ['chat', 'completion', 'embedding', 'rerank'] },
    })
    expect(yard.state().instances).toEqual([])
    await expect(yard.collection.remove('tiny')).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(yard.collection.remove('made')).rejects.toMatchObject({ code: 'model_not_found' })
  })

  it('BR-21: residents expire after the last answer; one that runs or is pinned stays', async () => {
    const yard = await yards.open({
      models: {
        kept: { ...TALKER, pinned: true },
        brief: { ...TALKER, keepAlive: '1m', memory: '2MiB', maxInstances: 1 },
      },
    })
    await yard.chat({ model: 'kept', messages: [user('Hi')] }).text()
    const controller = new AbortController()
    const speaking = yard.chat({ model: 'brief', messages: [user('for ever')], signal: controller.signal })
    const reader = speaking[Symbol.asyncIterator]()
    await reader.next()
    const during = yard.collection.residents()
    expect(during.map(({ model, expiresAt }) => [model, expiresAt === null])).toEqual([
      ['kept', true],
      ['brief', false],
    ])
    controller.abort()
    await speaking.text().catch(() => undefined)
    const after = yard.collection.residents().find(({ model }) => model === 'brief')
    expect(after).toMatchObject({ bytes: 2 * 1024 ** 2, deviceBytes: 0, contextLength: 8192 })
    expect(Math.abs((after?.expiresAt ?? 0) - Date.now() - 60_000)).toBeLessThan(30_000)
  })

  it('pull refuses what it does not know, and has nothing to do for a model without files', async () => {
    const yard = await yards.open({ models: { made: TALKER } })
    const options = { signal: new AbortController().signal, onProgress: () => undefined }
    expect(await yard.collection.pull('made', options)).toMatchObject({ id: 'made' })
    for (const name of ['llama3.2', 'https://127.0.0.1/x.gguf', '/etc/passwd', '../x.gguf']) {
      await expect(yard.collection.pull(name, options)).rejects.toMatchObject({ code: 'model_not_found' })
    }
  })
})
