import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { UpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts'
import { createYard } from '../../src/yard.ts'
import { removeFolder, temporaryFolder } from '../models/paths.ts'
import { chat, NEVER, read, type Answer } from '../node-llama-cpp/fixtures.ts'
import { FakeUpstream, hangUp, json, refuse } from './fake-upstream.ts'
import { FarModels } from './far-models.ts'

const engine = new UpstreamEngine({ clock: new SystemClock(), environmentVariable: () => undefined })
const USAGE = { prompt_tokens: 5, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 0 } }

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

async function askWhole(model: LoadedModel, signal: AbortSignal = NEVER): Promise<Answer> {
  return await read(model.run(chat('hi'), { slot: 0, keptPrefix: 0, signal, isWhole: true }))
}

function document(message: object, more: object = {}): object {
  return { choices: [{ index: 0, message, finish_reason: 'stop', ...more }], usage: USAGE }
}

function asked(): unknown[] {
  return fake.sent.map(({ body }) => JSON.parse(body.toString()) as unknown)
}

function answerWith(value: unknown): void {
  fake.answers.splice(0, 9, json(value))
}

describe('an answer of which nothing is read before its end', () => {
  it('is asked for in one piece, and is told as a stream would be', async () => {
    answerWith(document({ role: 'assistant', reasoning_content: 'So: ', content: 'fine' }))
    const { parts, result } = await askWhole(await load())
    expect(asked()).toMatchObject([{ stream: false }])
    expect(asked()[0]).not.toHaveProperty('stream_options')
    expect(parts).toEqual([
      { type: 'started', promptTokens: 5, cachedTokens: 0 },
      { type: 'reasoning', text: 'So: ' },
      { type: 'text', text: 'fine' },
    ])
    expect(result).toMatchObject({
      finishReason: 'stop',
      usage: { promptTokens: 5, completionTokens: 3 },
      timings: { prefill: 0 },
    })
  })

  it('tells calls apart that have no number, and log-probabilities', async () => {
    const call = (id: string, name: string): object => ({ id, function: { name, arguments: '{}' } })
    const logprobs = { content: [{ token: 'a', bytes: [97], logprob: 0, top_logprobs: [] }] }
    answerWith(
      document(
        { content: 'a', tool_calls: [call('c1', 'one'), call('c2', 'two')] },
        { finish_reason: 'tool_calls', logprobs },
      ),
    )
    const { parts, result } = await askWhole(await load())
    expect(result.finishReason).toBe('tool-calls')
    expect(parts.slice(1)).toEqual([
      { type: 'text', text: 'a', logprobs: [{ text: 'a', bytes: [97], logprob: 0, top: [] }] },
      { type: 'tool-call', index: 0, id: 'c1', name: 'one' },
      { type: 'tool-call-arguments', index: 0, text: '{}' },
      { type: 'tool-call', index: 1, id: 'c2', name: 'two' },
      { type: 'tool-call-arguments', index: 1, text: '{}' },
    ])
  })

  it.each([
    ['an empty text', document({ content: '' }), ''],
    ['no text', document({ content: null }), ''],
    ['no error', { ...document({ content: 'b' }), error: null }, 'b'],
  ])('may be %s', async (_, value, text) => {
    answerWith(value)
    const answered = await askWhole(await load())
    expect([answered.parts[0]?.type, answered.text]).toEqual(['started', text])
  })

  it('is read as a stream from a server that knows nothing else', async () => {
    expect((await askWhole(await load())).text).toBe('fine')
    expect(asked()).toMatchObject([{ stream: false }])
  })

  it.each([
    ['without its finish reason', { choices: [{ message: { content: 'half' } }] }, 'before it was complete'],
    ['that is a text', 'half', 'before it was complete'],
    ['that is a list', '[]', 'before it was complete'],
    ['that is an error', { error: { message: 'out of memory' } }, 'out of memory'],
  ])('R12: one %s is never complete', async (_, value, message) => {
    answerWith(value)
    await expect(askWhole(await load())).rejects.toMatchObject({
      code: 'engine_failed',
      message: expect.stringContaining(message) as string,
    })
  })

  it('R12: one whose connection breaks in the middle is never complete', async () => {
    fake.answers.splice(0, 9, (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 })
      response.write(JSON.stringify(document({ content: 'all' })), () => response.destroy())
    })
    await expect(askWhole(await load())).rejects.toMatchObject({ code: 'engine_failed' })
  })

  it('is read no further than 64 MiB', async () => {
    fake.answers.splice(0, 9, (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const more = (): boolean => response.write(Buffer.alloc(1024 * 1024, ' '), () => void more())
      more()
    })
    await expect(askWhole(await load())).rejects.toThrow('more than 64 MiB')
    await vi.waitFor(() => expect(fake.left).toBe(1), { timeout: 10_000 })
  })

  it('is asked for again when it failed before its first byte, and not when it was refused', async () => {
    answerWith(document({ content: 'fine' }))
    fake.answers.unshift(hangUp)
    const model = await load()
    expect((await askWhole(model)).text).toBe('fine')
    fake.answers.splice(0, 9, refuse(400, 'no'))
    await expect(askWhole(model)).rejects.toMatchObject({ code: 'invalid_request' })
    expect(fake.chats).toBe(3)
  })

  it('is waited for as long as wholeAnswerTimeout says, once, whatever firstByteTimeout is', async () => {
    fake.answers.splice(0, 9, (_, response) => {
      setTimeout(() => json(document({ content: 'late' }))(_, response), 3000)
    })
    const patient = await load({ firstByteTimeout: 1000, wholeAnswerTimeout: 60_000, retries: 0 })
    expect((await askWhole(patient)).text).toBe('late')
    fake.answers.splice(0, 9, () => undefined)
    const model = await load({ wholeAnswerTimeout: 1500 })
    const before = fake.chats
    await expect(askWhole(model)).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringMatching(
        /did not begin to answer within 1\.5 s\. .*wholeAnswerTimeout/,
      ) as string,
    })
    // It computed all that time: it is neither asked again nor given up for others.
    expect(fake.chats - before).toBe(1)
    fake.answers.splice(0, 9, json(document({ content: 'quick' })))
    expect((await askWhole(model)).text).toBe('quick')
  })

  it('is asked for as a stream where wholeAnswerTimeout is 0', async () => {
    expect((await askWhole(await load({ wholeAnswerTimeout: 0 }))).text).toBe('fine')
    expect(asked()).toMatchObject([{ stream: true }])
  })

  it('ends there when its reader leaves', async () => {
    fake.answers.splice(0, 9, () => undefined)
    const model = await load()
    const leaving = new AbortController()
    const answered = askWhole(model, leaving.signal)
    await vi.waitFor(() => expect(fake.chats).toBe(1), { timeout: 10_000 })
    leaving.abort()
    await expect(answered).rejects.toMatchObject({ code: 'aborted' })
    await vi.waitFor(() => expect(fake.left).toBe(1), { timeout: 10_000 })
  })

  it('is what a client over HTTP gets that asks for no stream; one that does has a stream', async () => {
    const home = await temporaryFolder()
    const model = { engine: 'upstream' as const, url: fake.url, remoteModel: 'remote' }
    const yard = await createYard({ home: join(home, 'near'), models: { far: model } })
    const { url } = await yard.listen({ port: 0 })
    const ask = async (stream: boolean): Promise<string> => {
      const body = JSON.stringify({ model: 'far', stream, messages: [{ role: 'user', content: 'hi' }] })
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      return await response.text()
    }
    try {
      fake.answers.unshift(json(document({ content: 'fine' })))
      expect(JSON.parse(await ask(false))).toMatchObject({
        choices: [{ message: { content: 'fine' } }],
        usage: { total_tokens: 8 },
      })
      expect(await ask(true)).toContain('"content":"fine"')
      expect(asked()).toMatchObject([{ stream: false }, { stream: true }])
    } finally {
      await yard.stop({ deadline: 0 })
      await removeFolder(home)
    }
  })
})
