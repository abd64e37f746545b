import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { UpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts'
import type { Part } from '../../src/tasks/part.ts'
import type { Task } from '../../src/tasks/task.ts'
import { foxes } from '../models/fox-sound.ts'
import { png, RED } from '../models/tiny-image.ts'
import { chat, NEVER, read, specOf, type Answer } from '../node-llama-cpp/fixtures.ts'
import { breakOff, bytes, FakeUpstream, hangUp, json, refuse } from './fake-upstream.ts'
import { FACTS, FarModels } from './far-models.ts'

const engine = new UpstreamEngine({ clock: new SystemClock() })

const FOX = foxes(1)
const PICTURE = Buffer.from(png(64, 32, RED))

const RANK: Task = { kind: 'rerank', query: 'a cat', documents: ['', 'a dog', 'a cat'] }
const HEAR: Task = { kind: 'transcription', audio: FOX, language: 'en', prompt: '', temperature: 0 }
const SAY: Task = { kind: 'speech', text: 'Hello.', format: 'wav', voice: 'joe', speed: 0.25 }
const DRAW: Task = { kind: 'image', prompt: 'a cat', count: 1, width: 64, height: 32, seed: 0, guidance: 0 }

const RANKED = json({
  results: [
    { index: 2, relevance_score: 0.9 },
    { index: 0, relevance_score: 0 },
    { index: 1, relevance_score: 0.2 },
  ],
  usage: { total_tokens: 12 },
})
const HEARD = json({
  text: ' The quick brown fox. Yes.',
  duration: '2.7',
  language: 'en',
  segments: [
    { id: 0, start: 0, end: 1.5, text: ' The quick brown fox.' },
    { id: 1, start: 1.5, end: 2.7, text: ' Yes.' },
  ],
})
const DRAWN = json({ created: 1, data: [{ b64_json: PICTURE.toString('base64'), seed: 0 }] })

const CASES: [kind: Task['kind'], task: Task, answer: ReturnType<typeof json>, path: string][] = [
  ['rerank', RANK, RANKED, '/v1/rerank'],
  ['transcription', HEAR, HEARD, '/v1/audio/transcriptions'],
  ['speech', SAY, bytes(FOX), '/v1/audio/speech'],
  ['image', DRAW, DRAWN, '/v1/images/generations'],
]

let fake: FakeUpstream
const far = new FarModels(engine)
beforeEach(async () => {
  fake = await FakeUpstream.start()
})
afterEach(async () => {
  await far.unload()
  await fake[Symbol.asyncDispose]()
})

function load(options: Record<string, unknown> = {}): Promise<LoadedModel> {
  return far.load({ url: fake.url, retries: 0, ...options })
}

function ask(model: LoadedModel, task: Task, signal: AbortSignal = NEVER): Promise<Answer> {
  return read(model.run(task, { slot: 0, keptPrefix: 0, signal }))
}

/** Of a request in JSON. */
function sentBody(index = -1): unknown {
  return JSON.parse(fake.sent.at(index)?.body.toString() ?? 'null')
}

/** Fields of a form, files as their name, type and size. */
async function sentForm(index = -1): Promise<Record<string, unknown>> {
  const { contentType, body } = fake.sent.at(index) ?? { contentType: '', body: Buffer.alloc(0) }
  const headers = { 'content-type': contentType }
  const form = await new Response(new Uint8Array(body), { headers }).formData()
  const fields = [...form].map(([name, value]) => [
    name,
    typeof value === 'string' ? value : [value.name, value.type, value.size],
  ])
  return Object.fromEntries(fields) as Record<string, unknown>
}

describe('a model of an upstream', () => {
  it('ranks documents: all are asked for, and come in their order with scores of zero', async () => {
    fake.answers.splice(0, 9, RANKED)
    const { parts, result } = await ask(await load(), RANK)
    expect(parts).toEqual([
      { type: 'started', promptTokens: 12, cachedTokens: 0 },
      { type: 'score', index: 0, score: 0 },
      { type: 'score', index: 1, score: 0.2 },
      { type: 'score', index: 2, score: 0.9 },
    ])
    expect(result).toMatchObject({ finishReason: 'stop', usage: { promptTokens: 12 } })
    expect(sentBody()).toEqual({
      model: 'remote',
      query: 'a cat',
      documents: ['', 'a dog', 'a cat'],
      top_n: 3,
    })
  })

  it("makes 0…1 of llama.cpp's raw numbers, also where all happen to be between", async () => {
    fake.entries = { owned_by: 'llamacpp' }
    const results = [0, 1, 2].map((index) => ({ index, relevance_score: index / 2 }))
    fake.answers.splice(0, 9, json({ results }))
    const { parts } = await ask(await load(), RANK)
    expect(parts[1]).toEqual({ type: 'score', index: 0, score: 0.5 })
  })

  it('hears: the file and all that was asked go as a form, and segments come with their times', async () => {
    fake.answers.splice(0, 9, HEARD)
    const { parts, result } = await ask(await load(), HEAR)
    expect(parts).toEqual([
      { type: 'started', promptTokens: 0, cachedTokens: 0 },
      { type: 'sound', seconds: 2.7, language: 'en' },
      { type: 'segment', start: 0, end: 1.5, text: ' The quick brown fox.' },
      { type: 'segment', start: 1.5, end: 2.7, text: ' Yes.' },
    ])
    expect(result.usage.unknown).toBe(true)
    expect(await sentForm()).toEqual({
      model: 'remote',
      response_format: 'verbose_json',
      language: 'en',
      prompt: '',
      temperature: '0',
      file: ['sound.wav', 'audio/wav', FOX.length],
    })
  })

  it('translates by the route that is there for it, whose absence says nothing of the other', async () => {
    fake.answers.splice(0, 9, HEARD)
    const model = await load()
    await ask(model, { ...HEAR, translate: true })
    expect(fake.sent[0]?.path).toBe('/v1/audio/translations')
    expect(await sentForm()).not.toHaveProperty('language')
    fake.answers.splice(0, 9, refuse(404, ''))
    await expect(ask(model, { ...HEAR, translate: true })).rejects.toMatchObject({
      code: 'unsupported',
      details: { ability: 'translation' },
    })
  })

  it('is asked for a text alone where times are not to be had, and from then on at once', async () => {
    const refusal = refuse(400, "response_format 'verbose_json' is not compatible with model 'x'")
    fake.answers.splice(0, 9, refusal, json({ text: 'The quick brown fox.' }))
    const model = await load()
    const { parts } = await ask(model, HEAR)
    const seconds = (FOX.length - 44) / 32_000
    expect(parts.slice(1)).toEqual([
      { type: 'sound', seconds: expect.closeTo(seconds, 1) as number, language: 'en' },
      {
        type: 'segment',
        start: 0,
        end: expect.closeTo(seconds, 1) as number,
        text: 'The quick brown fox.',
      },
    ])
    expect((await sentForm())['response_format']).toBe('json')
    await ask(model, HEAR)
    expect(fake.chats).toBe(3)
  })

  it('finds that out once for each of those who ask at the same time', async () => {
    const refusal = refuse(400, "response_format 'verbose_json' is not compatible with model 'x'")
    fake.answers.splice(0, 9, refusal, refusal, json({ text: 'Yes.' }))
    const model = await load()
    const heard = await Promise.all([ask(model, HEAR), ask(model, HEAR)])
    expect(heard.map(({ parts }) => parts.at(-1))).toMatchObject([{ text: 'Yes.' }, { text: 'Yes.' }])
    fake.answers.splice(0, 9, refusal)
    await expect(ask(model, HEAR)).rejects.toMatchObject({ code: 'invalid_request' })
    expect(fake.chats).toBe(5)
  })

  it('speaks, byte for byte', async () => {
    fake.answers.splice(0, 9, bytes(FOX))
    const { parts } = await ask(await load(), SAY)
    expect(soundOf(parts).equals(FOX)).toBe(true)
    expect(sentBody()).toEqual({
      model: 'remote',
      input: 'Hello.',
      voice: 'joe',
      response_format: 'wav',
      speed: 0.25,
    })
  })

  it('draws: zeros are asked for, pixels are counted in the picture', async () => {
    fake.answers.splice(0, 9, DRAWN)
    const { parts } = await ask(await load(), DRAW)
    expect(parts[1]).toMatchObject({
      type: 'image',
      index: 0,
      mediaType: 'image/png',
      width: 64,
      height: 32,
      seed: 0,
    })
    expect(sentBody()).toEqual({
      model: 'remote',
      prompt: 'a cat',
      n: 1,
      size: '64x32',
      response_format: 'b64_json',
      seed: 0,
      cfg_scale: 0,
    })
  })

  it("draws with OpenAI's newer models, which know no response_format", async () => {
    fake.answers.splice(0, 9, refuse(400, "Unknown parameter: 'response_format'."), DRAWN)
    await ask(await load(), DRAW)
    expect(sentBody()).not.toHaveProperty('response_format')
    expect(fake.chats).toBe(2)
  })
})

it('what an endpoint never does is no failure of it, with a 500 neither: nothing is tried again, nothing rests', async () => {
  fake.answers.splice(0, 9, refuse(500, 'image input is not supported - hint: you may need the mmproj'))
  const model = await load({ retries: 2 })
  const content = [{ type: 'image' as const, mediaType: 'image/png', data: PICTURE }]
  for (let count = 0; count < 4; count++)
    await expect(ask(model, chat([{ role: 'user', content }]))).rejects.toMatchObject({
      code: 'unsupported',
      details: { ability: 'images' },
      message: `The upstream of model "far" cannot do this (images): ${fake.url}: HTTP 500, image input is not supported - hint: you may need the mmproj`,
    })
  expect(fake.chats).toBe(4)
})

describe('what only some servers do', () => {
  const OPEN = chat([
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'Hel' },
  ])
  const IDS: Task = { kind: 'completion', prompt: [0, 1], sampling: {}, stop: [] }

  it.each(['vllm', 'sglang'])(
    '%s continues an answer when it is told to, and takes token ids',
    async (owner) => {
      fake.entries = { owned_by: owner }
      const facts = await engine.inspect(
        specOf({ id: 'far', engineOptions: { url: fake.url, remoteModel: 'remote' } }),
        NEVER,
      )
      const { capabilities } = engine.plan(specOf({ engineOptions: { url: fake.url } }), facts)
      expect(capabilities).toMatchObject({ prefill: true, tokenInput: true, images: true, grammar: false })
      const model = await load()
      await ask(model, OPEN)
      expect(sentBody()).toMatchObject({ continue_final_message: true, add_generation_prompt: false })
      await ask(model, chat('hi'))
      expect(sentBody()).not.toHaveProperty('continue_final_message')
      await ask(model, IDS)
      expect(sentBody()).toMatchObject({ prompt: [0, 1] })
    },
  )

  it('others are asked for it where the configuration says that they do, in words that OpenAI knows', async () => {
    const silent = engine.plan(specOf({ engineOptions: { url: fake.url } }), FACTS).capabilities
    expect(silent).toMatchObject({ prefill: false, tokenInput: false, images: true })
    await ask(await load({ capabilities: { prefill: true } }), OPEN)
    expect(sentBody()).not.toHaveProperty('continue_final_message')
    expect(sentBody()).not.toHaveProperty('add_generation_prompt')
  })
})

describe.each(CASES)('%s', (_, task, answer, path) => {
  it('goes to its route, and is asked for again when it failed before the first byte', async () => {
    fake.answers.splice(0, 9, hangUp, refuse(503, 'not now'), answer)
    await ask(await load({ retries: 2 }), task)
    expect(fake.sent.map((sent) => sent.path)).toEqual([path, path, path])
    expect(fake.sent[2]?.body.length).toBe(fake.sent[0]?.body.length)
  })

  it('R12: an answer that breaks off, or ends too early, is never told as complete', async () => {
    const model = await load({ retries: 2 })
    const [half, type] =
      task.kind === 'speech'
        ? [FOX.subarray(0, 1000), 'audio/wav']
        : [Buffer.from('{"text":"hal'), 'application/json']
    fake.answers.splice(0, 9, breakOff(half, type))
    await expect(ask(model, task)).rejects.toMatchObject({ code: 'engine_failed' })
    fake.answers.splice(0, 9, bytes(half, type))
    await expect(ask(model, task)).rejects.toThrow('before it was complete')
    expect(fake.chats).toBe(2)
    fake.answers.splice(0, 9, answer)
    await ask(model, task)
  })

  it('is ended there at once when the client leaves, before and in the answer', async () => {
    const model = await load()
    for (const begun of [false, true]) {
      fake.answers.splice(0, 9, (__, response) => {
        if (begun) response.writeHead(200, { 'content-type': 'audio/wav' }).write(FOX.subarray(0, 100))
      })
      const before = { chats: fake.chats, left: fake.left }
      const controller = new AbortController()
      const why = new Error('gone')
      const asked = ask(model, task, controller.signal)
      asked.catch(() => undefined)
      await vi.waitFor(() => expect(fake.chats).toBe(before.chats + 1), 20_000)
      controller.abort(why)
      await expect(asked).rejects.toThrow('aborted')
      await vi.waitFor(() => expect(fake.left).toBe(before.left + 1), 20_000)
    }
  })

  it('counts for the pause after three failures in a row', async () => {
    fake.answers.splice(0, 9, refuse(500, 'broken'))
    const model = await load()
    for (let count = 0; count < 3; count++)
      await expect(ask(model, task)).rejects.toMatchObject({ code: 'engine_failed' })
    await expect(ask(model, task)).rejects.toMatchObject({ code: 'queue_full' })
    expect(fake.chats).toBe(3)
  })

  it('leaves an endpoint as busy as it was: the next goes there, whatever became of the one before', async () => {
    const second = await FakeUpstream.start()
    try {
      const model = await load({ url: [fake.url, second.url] })
      fake.answers.splice(0, 9, refuse(400, 'wrong'), breakOff('{'), json({}), answer)
      // Refused, broken off and unreadable.
      for (let count = 0; count < 3; count++) await expect(ask(model, task)).rejects.toThrow('upstream')
      await ask(model, task)
      expect([fake.chats, second.chats]).toEqual([4, 0])
    } finally {
      await second[Symbol.asyncDispose]()
    }
  })

  it.each([
    [404, '', 'without a word'],
    [405, 'Method Not Allowed', 'by its method'],
    [501, '', 'as nothing of its'],
  ])('is learned not to be there from HTTP %i, once', async (status, reason) => {
    fake.answers.splice(0, 9, refuse(status, reason))
    await expect(ask(await load({ retries: 2 }), task)).rejects.toMatchObject({
      code: 'unsupported',
      details: { ability: task.kind },
    })
    expect(fake.chats).toBe(1)
  })

  it('is told plainly when something else is sent: an error with a 200, an address, another sound', async () => {
    const model = await load()
    fake.answers.splice(0, 9, json({ error: 'Unexpected endpoint or method. (POST /v1/x)' }))
    await expect(ask(model, task)).rejects.toMatchObject({
      code: 'unsupported',
      details: { ability: task.kind },
    })
    fake.answers.splice(0, 9, json({ error: { message: 'out of memory' } }))
    await expect(ask(model, task)).rejects.toMatchObject({
      code: 'engine_failed',
      message: expect.stringContaining('sent an error as its answer: out of memory') as string,
    })
    fake.answers.splice(0, 9, json({ data: [{ url: 'http://127.0.0.1:9/x.png' }], results: [] }))
    await expect(ask(model, task)).rejects.toMatchObject({ code: 'engine_failed' })
    fake.answers.splice(0, 9, bytes(Buffer.from('ID3 and so on, as MP3'), 'audio/mpeg'))
    await expect(ask(model, task)).rejects.toMatchObject({ code: 'engine_failed' })
  })
})

it('a refusal names what it lacks for whoever plans the next request', async () => {
  const own = new UpstreamEngine({ clock: new SystemClock() })
  fake.answers.splice(0, 9, refuse(400, 'The model does not support Transcriptions API'))
  const spec = specOf({ id: 'far', engineOptions: { url: fake.url, remoteModel: 'remote' } })
  const others = new FarModels(own)
  await expect(ask(await others.load({ url: fake.url }), HEAR)).rejects.toMatchObject({ code: 'unsupported' })
  await others.unload()
  const facts = await own.inspect(spec, NEVER)
  expect(own.plan(spec, facts).capabilities.tasks).toEqual([
    'chat',
    'completion',
    'embedding',
    'rerank',
    'speech',
    'image',
  ])
})

function soundOf(parts: readonly Part[]): Buffer {
  return Buffer.concat(parts.flatMap((part) => (part.type === 'audio' ? [part.data] : [])))
}
