import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createYard, type Yard } from '../../src/yard.ts'
import { ENGINES_DIRECTORY, removeFolder, temporaryFolder } from '../models/paths.ts'
import { HAS_TRANSFORMERS, pulled } from './fixtures.ts'

const minilm = HAS_TRANSFORMERS ? await pulled('minilm-onnx') : undefined

describe.runIf(minilm !== undefined)('a yard with MiniLM on the engine transformers', () => {
  let folder = ''
  let yard: Yard
  let client: OpenAI
  beforeAll(async () => {
    folder = await temporaryFolder()
    await linkEngines(folder)
    yard = await createYard({ home: folder, models: { minilm: { source: minilm ?? '' } } })
    const { url } = await yard.listen({ host: '127.0.0.1', port: 0 })
    client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' })
  })
  afterAll(async () => {
    await yard.stop({ deadline: 0 })
    await removeFolder(folder)
  })

  it('finds the engine by the folder’s content and embeds over HTTP, with the official client', async () => {
    const { data, usage } = await client.embeddings.create({ model: 'minilm', input: ['one', 'two words'] })
    expect(data.map(({ embedding }) => embedding.length)).toEqual([384, 384])
    expect(usage.prompt_tokens).toBe(7)
  })

  it('embeds for the library, the same', async () => {
    const { vectors, info } = await yard.embed({ model: 'minilm', input: 'one' })
    const { data } = await client.embeddings.create({ model: 'minilm', input: 'one' })
    expect(Array.from(vectors[0] ?? [])).toEqual(data[0]?.embedding)
    expect(info.instance).toBe('minilm#1')
  })

  it('refuses a chat with what the model is for, before anything else', async () => {
    const asking = client.chat.completions.create({
      model: 'minilm',
      messages: [{ role: 'user', content: 'hi' }],
    })
    await expect(asking).rejects.toMatchObject({ status: 400 })
  })

  it('books what it measured, and gives it back (M9, M12)', async () => {
    const { instances } = yard.state()
    expect(instances.map(({ model, state }) => [model, state])).toEqual([['minilm', 'ready']])
    expect(instances[0]?.booked.ram).toBeGreaterThan(100 * 2 ** 20)
    await yard.unloadModel('minilm')
    expect(yard.state().instances).toEqual([])
  })
})

/** The engines that `npm test` installed, in another home. */
async function linkEngines(home: string): Promise<void> {
  await mkdir(home, { recursive: true })
  await symlink(ENGINES_DIRECTORY, join(home, 'engines'))
}
