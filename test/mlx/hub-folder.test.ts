import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HubServer } from '../downloads/hub-server.ts'
import { TINY_CHAT_FOLDER } from '../models/paths.ts'
import { temporaryFolder, removeFolder } from '../models/paths.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import { ownYards, user } from '../yard/harness.ts'
import { HAS_MLX } from './fixtures.ts'

const HELLO = 'Hello, how are you today?'
const SOURCE = 'hf:org/tiny-chat'
const LARGE = new Set(['model.safetensors', 'tokenizer.json'])

/** tiny-chat as a repository: without its GGUF file unless that is wished, and with what such repositories have beside. */
async function offerTinyChat(hub: HubServer, withGguf = false): Promise<void> {
  for (const name of await readdir(TINY_CHAT_FOLDER)) {
    const content = await readFile(join(TINY_CHAT_FOLDER, name))
    const sum = LARGE.has(name) || name.endsWith('.gguf') ? {} : { sha256: null }
    if (withGguf || !name.endsWith('.gguf')) hub.add('org/tiny-chat', name, { content, ...sum })
  }
  hub.add('org/tiny-chat', 'pytorch_model.bin', Buffer.from('pickle'))
}

it('without the engine, a use of the model says so before a byte is fetched', async () => {
  await using hub = await HubServer.start()
  await offerTinyChat(hub)
  const home = await temporaryFolder()
  const yard = await createYard({
    home,
    downloads: { endpoint: hub.endpoint },
    models: { tiny: { source: SOURCE }, own: { source: SOURCE, engine: 'mlx', python: '/nowhere/python' } },
  })
  try {
    const missing = { code: 'engine_missing', details: { engine: 'mlx' } }
    await expect(yard.chat({ model: 'tiny', messages: [user('hi')] }).text()).rejects.toMatchObject(missing)
    await expect(yard.plan('tiny')).rejects.toThrow('modelyard engines install mlx')
    await expect(yard.loadModel('tiny', { force: true })).rejects.toMatchObject(missing)
    expect(hub.fileRequests).toEqual([])
    // A Python of one's own is looked at when it is started, and whoever pulls may install the engine later.
    expect(await yard.plan('own')).toMatchObject({ model: 'own' })
  } finally {
    await yard.stop()
    await removeFolder(home)
  }
})

describe.runIf(HAS_MLX)('a repository with safetensors is fetched and answers by mlx', () => {
  const yards = ownYards()
  let hub: HubServer
  beforeEach(async () => {
    hub = await HubServer.start()
  })
  afterEach(async () => hub[Symbol.asyncDispose]())

  async function answerOf(yard: Yard, model: string): Promise<string> {
    return await yard.chat({ model, messages: [user('hi')], temperature: 0 }).text()
  }

  it('on first use, with no word of an engine; then it lies there under its name, and goes with all its files', async () => {
    await offerTinyChat(hub)
    const downloads = { endpoint: hub.endpoint }
    const yard = await yards.open({ downloads, models: { tiny: { source: SOURCE, context: 512 } } })
    expect(await answerOf(yard, 'tiny')).toBe(HELLO)
    expect(yard.state().instances).toMatchObject([{ model: 'tiny' }])
    await yard.stop()
    // Of another configuration it is a model that was found.
    const again = await yards.open({ downloads, context: 512 })
    expect((await again.listModels()).map(({ id }) => id)).toEqual(['org/tiny-chat'])
    expect(await answerOf(again, 'org/tiny-chat')).toBe(HELLO)
    await again.collection.remove('org/tiny-chat')
    expect(await again.listModels()).toEqual([])
    expect(await readdir(join(yards.home.path, 'models'))).not.toContain('hf')
  })

  it('as Ollama’s clients pull it, also beside a GGUF file when they say so', async () => {
    await offerTinyChat(hub, true)
    const yard = await yards.open({ downloads: { endpoint: hub.endpoint }, context: 512 })
    const options = { signal: new AbortController().signal, onProgress: () => undefined }
    const pulled = await yard.collection.pull('hf.co/org/tiny-chat:safetensors', options)
    expect(pulled).toMatchObject({ id: 'org/tiny-chat:safetensors', facts: { format: 'safetensors' } })
    expect(pulled.facts?.safetensors?.quantization).toBe('float32')
    expect(await answerOf(yard, pulled.id)).toBe(HELLO)
    expect(await yard.collection.pull('hf.co/org/tiny-chat', options)).toMatchObject({
      facts: { format: 'gguf' },
    })
  })

  it('of a model whose configuration names mlx, although there is a GGUF file', async () => {
    await offerTinyChat(hub, true)
    const tiny = { source: SOURCE, engine: 'mlx', context: 512 }
    const yard = await yards.open({ downloads: { endpoint: hub.endpoint }, models: { tiny } })
    expect(await answerOf(yard, 'tiny')).toBe(HELLO)
    expect(hub.fileRequests.filter(({ path }) => /gguf|\.bin|README/.test(path))).toEqual([])
  })
})
