import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { imageFormatOf } from '../../src/tasks/image-format.ts'
import { soundFormatOf } from '../../src/tasks/sound-format.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import { foxes } from '../models/fox-sound.ts'
import { ENGINES_DIRECTORY, fetched, removeFolder, temporaryFolder } from '../models/paths.ts'
import { dataUri, png, RED } from '../models/tiny-image.ts'
import { bytes, FakeUpstream } from './fake-upstream.ts'
import { FAKE_SD_SERVER, requireNoneLeft, writePainter } from '../sd-server/fixtures.ts'
import { HAS_TRANSFORMERS, listeningYard, pulled, type ListeningYard } from '../transformers/fixtures.ts'

const whisper = HAS_TRANSFORMERS ? await pulled('whisper-tiny') : undefined
const joe = fetched(join(ENGINES_DIRECTORY, 'speech')) ? await pulled('piper-joe') : undefined
const HAS_PAINTER = process.platform === 'linux'

/** A yard in front of another one that has a model for each task, all of it over HTTP. */
let remote: ListeningYard
let near: Yard
let url = ''
let folder = ''
beforeAll(async () => {
  folder = await temporaryFolder()
  const painter = await writePainter(folder)
  remote = await listeningYard(() => ({
    ranker: { engine: 'scripted', capabilities: { tasks: ['rerank'] } },
    seer: { engine: 'scripted', slots: 4, script: [{ after: 'assistant', text: ' end.' }, { echo: 'user' }] },
    blind: { engine: 'scripted', capabilities: { images: false, prefill: false, tokenInput: false } },
    ...(whisper !== undefined && { ears: { source: whisper } }),
    ...(joe !== undefined && { joe: { source: joe } }),
    ...(HAS_PAINTER && {
      painter: { engine: 'sd-server', file: painter, binary: FAKE_SD_SERVER, largestSize: '256x256' },
    }),
  }))
  const models = { '*': { engine: 'upstream', url: `${remote.url}/v1`, retries: 0 } }
  near = await createYard({ home: join(folder, 'near'), models })
  ;({ url } = await near.listen({ host: '127.0.0.1', port: 0 }))
})
afterAll(async () => {
  await near.stop({ deadline: 0 })
  await remote.close()
  requireNoneLeft(folder)
  await removeFolder(folder)
})

async function post(path: string, body: object): Promise<{ status: number; answer: unknown }> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: response.status, answer: await response.json() }
}

/** What the near yard knows of the models over there, asked anew. */
async function knownOf(model: string): Promise<Record<string, boolean>> {
  await near.control.refreshModelLists()
  await near.unloadModel(model)
  const { endpoint } = await near.control.describeModel(model)
  return Object.fromEntries(endpoint?.abilities.map(({ name, has }) => [name, has]) ?? [])
}

const LOOK = (model: string): object => ({
  model,
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url: dataUri(png(8, 8, RED)) } },
      ],
    },
  ],
})

describe('a yard in front of another yard', () => {
  it('ranks there, and refuses at its own door what is empty', async () => {
    const documents = ['a dog', 'the black cat']
    const body = { model: 'ranker', query: 'black cat', documents, top_n: 1, return_documents: true }
    const { status, answer } = await post('/v1/rerank', body)
    expect([status, answer]).toMatchObject([
      200,
      { results: [{ index: 1, relevance_score: 1, document: { text: 'the black cat' } }] },
    ])
    const empty = await post('/v1/rerank', { ...body, documents: [] })
    expect([empty.status, empty.answer]).toMatchObject([400, { error: { param: 'documents' } }])
    const chat = await post('/v1/chat/completions', { ...LOOK('ranker'), messages: [user('hi')] })
    expect([chat.status, chat.answer]).toMatchObject([400, { error: { code: 'unsupported' } }])
  })

  it('shows images there; where there are none to see, the second is refused before it is sent', async () => {
    const seen = await post('/v1/chat/completions', LOOK('seer'))
    expect([seen.status, seen.answer]).toMatchObject([
      200,
      { choices: [{ message: { content: 'What is it?' } }] },
    ])
    const first = await post('/v1/chat/completions', LOOK('blind'))
    expect([first.status, first.answer]).toMatchObject([400, { error: { code: 'unsupported' } }])
    const second = await post('/v1/chat/completions', LOOK('blind'))
    expect([second.status, second.answer]).toMatchObject([
      400,
      { error: { param: 'messages', message: 'The model "blind" does not support images here.' } },
    ])
    expect((await knownOf('blind'))['images']).toBe(false)
  })

  it('refuses the address of an image at its own door', async () => {
    const content = [{ type: 'image_url', image_url: { url: 'http://127.0.0.1:9/a.png' } }]
    const { status, answer } = await post('/v1/chat/completions', {
      model: 'seer',
      messages: [{ role: 'user', content }],
    })
    expect([status, answer]).toMatchObject([
      400,
      { error: { message: expect.stringContaining('does not fetch') as string } },
    ])
  })

  it('continues an answer and takes token ids where the other one says that it does', async () => {
    const open = { model: 'seer', messages: [user('Tell me.'), { role: 'assistant', content: 'The' }] }
    expect(await knownOf('seer')).toMatchObject({ prefill: true, tokenInput: true, images: true })
    const { answer } = await post('/v1/chat/completions', open)
    expect(answer).toMatchObject({ choices: [{ message: { content: ' end.' } }] })
    const tokens = await post('/v1/completions', { model: 'seer', prompt: [1, 2] })
    expect(tokens.status).toBe(200)
    expect(await knownOf('blind')).toMatchObject({ prefill: false, tokenInput: false })
    const refused = await post('/v1/chat/completions', { ...open, model: 'blind' })
    expect([refused.status, refused.answer]).toMatchObject([501, { error: { param: 'messages' } }])
  })

  it.runIf(HAS_PAINTER)('draws there', async () => {
    const { images } = await near.generateImage({
      model: 'painter',
      prompt: 'a cat',
      size: '128x64',
      count: 2,
      seed: 0,
      steps: 2,
    })
    expect(images.map(({ width, height, seed }) => [width, height, seed])).toEqual([
      [128, 64, 0],
      [128, 64, 1],
    ])
    expect(imageFormatOf(images[0]?.data ?? new Uint8Array())).toBe('png')
    expect((await knownOf('painter'))['image']).toBe(true)
    expect((await near.findModel('painter')).purpose).toBe('image')
  })

  it.runIf(whisper !== undefined && joe !== undefined)('speaks there, and hears it there', async () => {
    const text = 'The quick brown fox jumps over the lazy dog.'
    const mp3 = await near.speak({ model: 'joe', text: 'Yes.', format: 'mp3' }).bytes()
    expect(soundFormatOf(mp3)).toBe('mp3')
    const audio = await near.speak({ model: 'joe', text, format: 'wav' }).bytes()
    const heard = await near.transcribe({ model: 'ears', audio })
    // A voice says nothing twice in the same way.
    expect(heard.text).toMatch(/fox jumps over/i)
    expect(heard.seconds).toBeGreaterThan(1)
    expect(heard.segments[0]).toMatchObject({ start: 0 })
  })

  it.runIf(whisper !== undefined)('hears what was recorded, with its language and length', async () => {
    const heard = await near.transcribe({ model: 'ears', audio: foxes(1), language: 'en', temperature: 0 })
    expect(heard).toMatchObject({ language: 'en', seconds: expect.closeTo(2.7, 0) as number })
    await expect(near.transcribe({ model: 'ears', audio: foxes(1), language: 'de' })).rejects.toThrow(
      'knows English only',
    )
  })
})

it('R12: a sound that breaks off over there is cut off here, too, and never ends as if it were whole', async () => {
  await using fake = await FakeUpstream.start()
  const models = { far: { engine: 'upstream', url: fake.url, remoteModel: 'remote', retries: 0 } }
  await using own = await createYard({ home: false, models })
  const { url: door } = await own.listen({ host: '127.0.0.1', port: 0 })
  const speak = async (): Promise<Response> =>
    await fetch(`${door}/v1/audio/speech`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'far', input: 'hi', response_format: 'wav' }),
    })
  fake.answers.splice(0, 9, bytes(foxes(1)))
  expect((await (await speak()).arrayBuffer()).byteLength).toBe(foxes(1).length)
  fake.answers.splice(0, 9, bytes(foxes(1).subarray(0, 50_000)))
  const cut = await speak()
  expect(cut.status).toBe(200)
  await expect(cut.arrayBuffer()).rejects.toThrow('terminated')
})

function user(content: string): { role: 'user'; content: string } {
  return { role: 'user', content }
}
