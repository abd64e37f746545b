import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createYard, type Yard } from '../../src/yard.ts'
import { openRemote } from '../contracts/upstream-subject.ts'
import { upstreamOptions } from '../../src/engines/upstream/upstream-options.ts'
import { specOf } from '../node-llama-cpp/fixtures.ts'
import { removeFolder, temporaryFolder } from '../models/paths.ts'

const KEY = 'sk-very-secret'

let folder: string
let remote: Awaited<ReturnType<typeof openRemote>>
let yard: Yard
beforeAll(async () => {
  folder = await temporaryFolder()
  remote = await openRemote(join(folder, 'remote'))
  const url = `${remote.url}/v1`
  yard = await createYard({
    home: join(folder, 'near'),
    models: {
      far: { engine: 'upstream', url, remoteModel: 'talker', key: KEY, slots: 8 },
      vectors: { engine: 'upstream', url, remoteModel: 'embedder' },
      nobody: { engine: 'upstream', url: 'http://127.0.0.1:9/v1', retries: 0 },
    },
  })
})
afterAll(async () => {
  await yard.stop({ deadline: 0 })
  await remote.yard.stop({ deadline: 0 })
  await removeFolder(folder)
})

async function say(content: string): Promise<string> {
  let text = ''
  for await (const part of yard.chat({ model: 'far', messages: [{ role: 'user', content }] })) {
    if (part.type === 'text') text += part.text
  }
  return text
}

describe('a yard in front of another yard', () => {
  it('answers with the models of the other, several at once, and takes no memory for them', async () => {
    const answers = await Promise.all(['hi', 'Count.', 'Who are you?', 'hi'].map(say))
    expect(answers).toEqual([
      'Hello, how are you today?',
      'one two three four five six seven',
      'I am a script.',
      'Hello, how are you today?',
    ])
    const instance = yard.state().instances.find(({ model }) => model === 'far')
    expect(instance).toMatchObject({ state: 'ready' })
    expect(remote.yard.state().instances.map(({ model }) => model)).toEqual(['talker'])
  })

  it('embeds there', async () => {
    const { vectors } = await yard.embed({ model: 'vectors', input: ['one', 'two'] })
    expect(vectors.map(({ length }) => length)).toEqual([64, 64])
  })

  it('says which address does not answer, and backs off', async () => {
    const messages = [{ role: 'user' as const, content: 'hi' }]
    await expect(yard.chat({ model: 'nobody', messages }).answer()).rejects.toMatchObject({
      code: 'model_load_failed',
      message: expect.stringContaining('http://127.0.0.1:9/v1') as string,
    })
  })

  it('has the durations that were written', async () => {
    const models = { slow: { engine: 'upstream', url: 'http://127.0.0.1:9/v1', firstByteTimeout: '2m' } }
    const configured = await createYard({ home: false, models })
    const engineOptions: Record<string, unknown> = configured.configuration.models[0]?.engineOptions ?? {}
    const spec = specOf({ id: 'slow', engineOptions })
    expect([engineOptions['firstByteTimeout'], upstreamOptions(spec).firstByteTimeout]).toEqual([
      120_000, 120_000,
    ])
    await configured.stop()
  })

  it('shows the API key nowhere (F10)', async () => {
    const shown = JSON.stringify([yard.state(), await yard.plan('far'), await yard.findModel('far')])
    expect(shown).not.toContain(KEY)
  })
})
