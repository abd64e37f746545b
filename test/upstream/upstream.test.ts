import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { UpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts'
import { chat, embedding, NEVER, read, type Answer } from '../node-llama-cpp/fixtures.ts'
import {
  breakOff,
  bytes,
  brokenChunk,
  complete,
  cutShort,
  endless,
  event,
  events,
  FakeUpstream,
  hangUp,
  json,
  pingsAfter,
  refuse,
  text as said,
} from './fake-upstream.ts'
import { FarModels } from './far-models.ts'

const environment: Record<string, string> = { FAR_KEY: 'secret-1' }
const engine = new UpstreamEngine({
  clock: new SystemClock(),
  environmentVariable: (name) => environment[name],
})

/** The end of an answer, without `[DONE]`. */
const FINISH = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })

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
  return far.load({ url: fake.url, ...options })
}

async function ask(model: LoadedModel, signal: AbortSignal = NEVER): Promise<Answer> {
  return await read(model.run(chat('hi'), { slot: 0, keptPrefix: 0, signal }))
}

describe('a model of an upstream', () => {
  it('answers, with the counts of its last event', async () => {
    const { text, result } = await ask(await load())
    expect(text).toBe('fine')
    expect(result).toMatchObject({ finishReason: 'stop', usage: { promptTokens: 5, completionTokens: 1 } })
  })

  it('is asked with the key of the environment, which no plan shows', async () => {
    const model = await load({ keyEnvironment: 'FAR_KEY' })
    await ask(model)
    expect(fake.keys).toEqual(['Bearer secret-1', 'Bearer secret-1'])
    expect(JSON.stringify(model.plan)).not.toContain('secret-1')
  })

  it.each([
    ['a refusal', refuse(401, 'Incorrect API key: Bearer secret-1')],
    ['a failure', refuse(500, 'headers: {"authorization": "Bearer secret-1"}')],
    ['an event', events(event({ error: { message: 'bad key secret-1' } }))],
    ['a document', json({ error: { message: 'bad key secret-1' } })],
  ])('tells nobody its key when the endpoint says it back in %s', async (_, answer) => {
    fake.answers.splice(0, 1, answer)
    const model = await load({ keyEnvironment: 'FAR_KEY', retries: 0 })
    const error = await ask(model).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ message: expect.stringContaining('(our key)') as string })
    expect(JSON.stringify(error)).not.toContain('secret-1')
  })

  it('is sent a key from a file with line ends without them, and one that no header can carry is refused unseen', async () => {
    environment['FAR_KEY_LINES'] = ' secret-2\r\n'
    await ask(await load({ keyEnvironment: 'FAR_KEY_LINES' }))
    expect(fake.keys.at(-1)).toBe('Bearer secret-2')
    environment['FAR_KEY_WORDS'] = 'sécret 3'
    const error = await load({ keyEnvironment: 'FAR_KEY_WORDS' }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'model_load_failed',
      message: expect.stringContaining('FAR_KEY_WORDS') as string,
    })
    expect(JSON.stringify(error)).not.toContain('cret 3')
  })

  it('is heard when it calls its stream JSON', async () => {
    fake.answers.splice(0, 1, bytes(Buffer.from(`: hello\n\n${said('all')}${FINISH}`), 'application/json'))
    expect(await ask(await load())).toMatchObject({ text: 'all', result: { finishReason: 'stop' } })
  })

  it('has ended its answer too early when it calls nothing at all JSON', async () => {
    fake.answers.splice(0, 1, bytes(Buffer.alloc(0), 'application/json'))
    await expect(ask(await load({ retries: 0 }))).rejects.toThrow('before it was complete')
  })

  it('has its whole answer when the connection breaks behind the finish reason', async () => {
    fake.answers.splice(0, 1, breakOff(said('all') + FINISH, 'text/event-stream'))
    expect(await ask(await load())).toMatchObject({ text: 'all', result: { finishReason: 'stop' } })
  })

  it('has its whole answer when only comments follow, and keeps no connection for them', async () => {
    fake.answers.splice(0, 1, pingsAfter(said('all') + FINISH))
    expect((await ask(await load())).text).toBe('all')
    await expect.poll(() => fake.left, { timeout: 20_000 }).toBe(1)
  })

  it('has its answer, and its error, from an endpoint that knows no streams', async () => {
    const message = { role: 'assistant', content: 'whole' }
    fake.answers.splice(0, 1, json({ choices: [{ index: 0, message, finish_reason: 'stop' }] }))
    const model = await load()
    expect((await ask(model)).text).toBe('whole')
    fake.answers.splice(0, 1, json({ error: { message: 'no such route' } }))
    await expect(ask(model)).rejects.toThrow('no such route')
  })

  it('says what came instead of an answer: nothing (204), or what is no HTTP', async () => {
    fake.answers.splice(0, 1, (_, response) => void response.writeHead(204).end())
    const model = await load()
    await expect(ask(model)).rejects.toThrow('took the request and sent no answer')
    fake.answers.splice(0, 1, brokenChunk)
    await expect(ask(model)).rejects.toThrow('broke off its answer')
  })

  it('asks nobody to come again in 10^300 seconds', async () => {
    fake.answers.splice(0, 1, refuse(429, 'slow down', { 'retry-after': '1e300' }))
    await expect(ask(await load())).rejects.toMatchObject({ code: 'queue_full', retryAfter: 86_400_000 })
  })

  it('is not loaded when the variable with its key is not set', async () => {
    await expect(load({ keyEnvironment: 'NO_SUCH' })).rejects.toThrow(
      'environment variable NO_SUCH, which is not set',
    )
  })

  it('is not loaded when it is not there, with the nearest names', async () => {
    fake.models = ['remote-7b', 'other']
    await expect(load({ remoteModel: 'remote-7' })).rejects.toMatchObject({
      code: 'model_load_failed',
      details: { failure: 'bad_option' },
      message:
        'The upstream of model "far" has no model "remote-7" among its 2; set remoteModel. Near it are: remote-7b.',
    })
  })

  it('is loaded when the endpoint lists no models', async () => {
    fake.models = undefined
    expect((await ask(await load())).text).toBe('fine')
  })

  it('is not loaded when nobody is there, and the address is named', async () => {
    const url = 'http://127.0.0.1:9/v1'
    await expect(load({ url, retries: 0 })).rejects.toMatchObject({
      code: 'model_load_failed',
      details: { failure: 'missing_engine' },
      message: expect.stringContaining(`cannot be reached at ${url}`) as string,
    })
  })

  it('is asked again when it failed before the first byte, at another endpoint first', async () => {
    const second = await FakeUpstream.start()
    const model = await load({ url: [fake.url, second.url] })
    fake.answers.unshift(hangUp)
    expect((await ask(model)).text).toBe('fine')
    expect([fake.chats, second.chats]).toEqual([1, 1])
    await second[Symbol.asyncDispose]()
  })

  it.each([500, 502, 503, 408])('is asked again after HTTP %i', async (status) => {
    fake.answers.unshift(refuse(status, 'not now'))
    expect((await ask(await load())).text).toBe('fine')
    expect(fake.chats).toBe(2)
  })

  it('is not asked again for what is wrong with the request, nor after the last retry', async () => {
    fake.answers.unshift(refuse(400, 'top_k is wrong'))
    const model = await load({ retries: 1 })
    await expect(ask(model)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('HTTP 400, top_k is wrong') as string,
    })
    expect(fake.chats).toBe(1)
    fake.answers.splice(0, 9, refuse(500, 'broken'))
    await expect(ask(model)).rejects.toMatchObject({ code: 'engine_failed' })
    expect(fake.chats).toBe(3)
  })

  it('tells what is too long, a refused key and a busy upstream apart', async () => {
    const model = await load({ retries: 0 })
    fake.answers.splice(0, 9, refuse(400, "This model's maximum context length is 9 tokens"))
    await expect(ask(model)).rejects.toMatchObject({ code: 'context_length_exceeded' })
    fake.answers.splice(0, 9, refuse(401, 'no'))
    await expect(ask(model)).rejects.toThrow('check its key or keyEnvironment')
    fake.answers.splice(0, 9, refuse(429, 'slow down', { 'retry-after': '7' }))
    await expect(ask(model)).rejects.toMatchObject({ code: 'queue_full', retryAfter: 7000 })
  })

  it('keeps nobody waiting longer than 5 s before another try', async () => {
    fake.answers.splice(0, 9, refuse(503, 'loading', { 'retry-after': '600' }))
    await expect(ask(await load())).rejects.toMatchObject({ retryAfter: 600_000 })
    expect(fake.chats).toBe(1)
  })

  it('is left alone after three failures in a row, and says when it is tried again', async () => {
    fake.answers.splice(0, 9, refuse(500, 'broken'))
    const model = await load({ retries: 0 })
    for (let count = 0; count < 3; count++)
      await expect(ask(model)).rejects.toMatchObject({ code: 'engine_failed' })
    await expect(ask(model)).rejects.toMatchObject({
      code: 'queue_full',
      message: 'All upstreams of model "far" have failed several times; the next try is in 1 s.',
    })
    expect(fake.chats).toBe(3)
  })

  it('BR-08: an answer that ends without its finish reason is an error, never complete', async () => {
    fake.answers.splice(0, 9, cutShort)
    const parts: string[] = []
    const model = await load()
    const stream = model.run(chat('hi'), { slot: 0, keptPrefix: 0, signal: NEVER })
    await expect(read(stream, (part) => parts.push(part.type))).rejects.toThrow('before it was complete')
    expect(parts).toEqual(['started', 'text'])
    expect(fake.chats).toBe(1)
  })

  it('waits for a first byte only so long', async () => {
    fake.answers.splice(0, 9, () => undefined)
    const model = await load({ firstByteTimeout: '300ms', retries: 0 })
    await expect(ask(model)).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringMatching(/did not begin to answer within 300 ms\. .*firstByteTimeout/) as string,
    })
  })

  it('waits only so long for what comes after the headers, too: servers send those before they work', async () => {
    fake.answers.splice(0, 9, (_, response) => response.writeHead(200).flushHeaders())
    const model = await load({ firstByteTimeout: '300ms', retries: 0 })
    await expect(ask(model)).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringMatching(/sent nothing more for 300 ms .*firstByteTimeout/) as string,
      details: { silence: 300 },
    })
  })

  it('tells in words when the connection breaks in the middle of an answer', async () => {
    fake.answers.splice(0, 9, (_, response) => {
      response.writeHead(200).write(': begun\n\n', () => response.destroy())
    })
    await expect(ask(await load())).rejects.toMatchObject({
      code: 'engine_failed',
      message: expect.stringContaining('broke off its answer: ') as string,
    })
  })

  it.each([301, 302, 307])(
    'that sends requests elsewhere (%i) is told to whoever set its address, not followed',
    async (status) => {
      fake.answers.splice(0, 9, (_, response) => {
        response.writeHead(status, { location: 'http://127.0.0.1:9/' }).end()
      })
      await expect(ask(await load())).rejects.toMatchObject({
        code: 'engine_failed',
        message: expect.stringContaining('set its url to the address itself') as string,
      })
      expect(fake.chats).toBe(1)
    },
  )

  it('that answers compressed, unasked, is told so', async () => {
    const packed = gzipSync('data: {}\n\n')
    fake.answers.splice(0, 9, (_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed),
    )
    await expect(ask(await load())).rejects.toMatchObject({
      code: 'engine_failed',
      message: expect.stringContaining('answers compressed (gzip)') as string,
    })
  })

  it('that promises more bytes than it sends, or sends no UTF-8, ends or goes on, and never hangs', async () => {
    const model = await load()
    fake.answers.splice(0, 9, (_, response) => {
      response.writeHead(200, { 'content-length': '5000' }).write(said('half'), () => response.destroy())
    })
    await expect(ask(model)).rejects.toMatchObject({ code: 'engine_failed' })
    fake.answers.splice(0, 9, (request, response) => {
      response
        .writeHead(200)
        .write(
          Buffer.from([
            ...Buffer.from('data: {"choices":[{"delta":{"content":"a'),
            0xf0,
            0x9f,
            ...Buffer.from('b"}}]}\n\n'),
          ]),
        )
      complete(request, Object.assign(response, { writeHead: () => response }))
    })
    expect((await ask(model)).text).toMatch(/^a\uFFFD+bfine$/)
  })

  it('that wants to be asked again at a date in the past is asked again at once', async () => {
    fake.answers.unshift(refuse(429, 'slow down', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }))
    expect((await ask(await load())).text).toBe('fine')
    expect(fake.chats).toBe(2)
  })

  it.each([
    ['some of the vectors', [{ index: 0, embedding: [1, 0] }], '1 whole vectors for 2 inputs'],
    [
      'one of them twice',
      [
        { index: 1, embedding: [1, 0] },
        { index: 1, embedding: [1, 0] },
      ],
      '1 whole vectors',
    ],
    [
      'places that nobody asked for',
      [
        { index: 0, embedding: [1] },
        { index: 7, embedding: [1] },
      ],
      '1 whole vectors',
    ],
    ['no numbers', [{ index: 0, embedding: [null] }, { embedding: {} }], '0 whole vectors'],
    ['nothing', null, '0 whole vectors'],
  ])('that answers with %s instead of all embeddings has failed (BR-34)', async (_, data, words) => {
    fake.answers.splice(0, 9, (__, response) => response.end(JSON.stringify({ data })))
    const running = read((await load()).run(embedding(['a', 'b']), { slot: 0, keptPrefix: 0, signal: NEVER }))
    await expect(running).rejects.toMatchObject({
      code: 'engine_failed',
      message: expect.stringContaining(words) as string,
    })
  })

  it('that writes vectors as base64 though numbers were asked for, and in any order, is understood (BR-32)', async () => {
    const floats = Buffer.from(Float32Array.from([0.5, -2]).buffer).toString('base64')
    const data = [
      { index: 1, embedding: floats },
      { index: 0, embedding: [3] },
    ]
    fake.answers.splice(0, 9, (_, response) => response.end(JSON.stringify({ data })))
    const { vectors } = await read(
      (await load()).run(embedding(['a', 'b']), { slot: 0, keptPrefix: 0, signal: NEVER }),
    )
    expect(vectors.map((vector) => [...vector])).toEqual([[3], [0.5, -2]])
  })

  it('is told at once that the client has left, by a signal or by a reader who stops', async () => {
    fake.answers.splice(0, 9, endless)
    const model = await load()
    const controller = new AbortController()
    const stream = model.run(chat('hi'), { slot: 0, keptPrefix: 0, signal: controller.signal })
    await expect(read(stream, () => controller.abort(new Error('gone')))).rejects.toThrow('aborted')
    await vi.waitFor(() => expect(fake.left).toBe(1), 20_000)
    for await (const part of model.run(chat('hi'), { slot: 0, keptPrefix: 0, signal: NEVER })) {
      if (part.type === 'text') break
    }
    await vi.waitFor(() => expect(fake.left).toBe(2), 20_000)
  })

  it('ends what runs when it is unloaded, with a clear error, and its exit is expected', async () => {
    fake.answers.splice(0, 9, endless)
    const model = await load()
    const answer = ask(model).catch((error: unknown) => error)
    await vi.waitFor(() => expect(fake.chats).toBe(1), 20_000)
    await model.unload()
    expect(await answer).toMatchObject({ code: 'run_cut' })
    expect((await model.exited).expected).toBe(true)
    await expect(ask(model)).rejects.toMatchObject({ code: 'worker_exited' })
  })
})
