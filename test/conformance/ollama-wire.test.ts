import { afterEach, describe, expect, it } from 'vitest'
import { ModelyardError } from '../../src/base/errors.ts'
import type { ModelCollection, ModelDescription, PullOptions } from '../../src/dialects/yard-port.ts'
import type { Part } from '../../src/tasks/part.ts'
import { STARTED, waitForAbort, type Step } from '../http/scripted-port.ts'
import { CHAT, eventually, RawClient, startTestServer, type TestServer } from '../http/test-server.ts'
import { AT_ONCE, soonest } from '../soonest.ts'

const TEXT: Part = { type: 'text', text: 'word ' }

const MODEL: ModelDescription = {
  id: 'model-a',
  aliases: [],
  name: 'model-a',
  favourite: false,
  created: 0,
  state: 'unloaded',
  contextLength: 4096,
  capabilities: null,
  purpose: 'generation',
  modifiedAt: 0,
  bytes: 100,
  digest: 'ab'.repeat(32),
  facts: null,
  defaults: {},
}

type Pull = (options: PullOptions) => Promise<void>

/** A collection that does nothing but pull as it is told. */
function collection(pull: Pull): ModelCollection {
  const refuse = (): never => {
    throw new ModelyardError('internal', 'Not in this test.')
  }
  return {
    describe: () => Promise.resolve(MODEL),
    describeAll: () => Promise.resolve([MODEL]),
    residents: () => [],
    pull: async (_name, options) => {
      await pull(options)
      return MODEL
    },
    make: refuse,
    remove: refuse,
  }
}

let server: TestServer
afterEach(() => server.close())

function after(milliseconds: number): Step {
  return { wait: new Promise((resolve) => setTimeout(resolve, milliseconds)) }
}

function linesOf(text: string): unknown[] {
  return text
    .trimEnd()
    .split('\n')
    .map((json) => JSON.parse(json) as unknown)
}

/** What SDKs hide: the bytes of the Ollama API. */
describe('H3: Ollama on the wire', () => {
  it.each([['application/x-www-form-urlencoded'], ['text/plain'], ['application/json; charset=utf-8']])(
    'a body sent as %s is taken for JSON, as curl sends it',
    async (type) => {
      server = await startTestServer()
      const response = await server.post('/api/chat', CHAT, { 'content-type': type })
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson'])
      expect(linesOf(await response.text()).at(-1)).toMatchObject({
        model: 'model-a',
        done: true,
        done_reason: 'stop',
      })
    },
  )

  it('BR-46: pages of other origins may not, whatever the type; those of this machine may', async () => {
    server = await startTestServer()
    for (const [origin, status] of [
      ['https://evil.example', 403],
      ['null', 403],
      ['http://localhost:3000', 200],
      ['app://obsidian.md', 200],
    ] as const) {
      const response = await server.post('/api/chat', CHAT, { 'content-type': 'text/plain', origin })
      expect([origin, response.status, response.headers.get('access-control-allow-origin')]).toEqual([
        origin,
        status,
        status === 200 ? origin : null,
      ])
      expect(/^\{"error":".+"\}$/.test(await response.text())).toBe(status === 403)
    }
  })

  it.each([
    ['{"model":', 400],
    ['[]', 400],
    ['', 400],
    [`{"x":"${'y'.repeat(3000)}"}`, 413],
  ])('a body of "%.12s" is a %d in its shape', async (body, status) => {
    server = await startTestServer({ limits: { bodyBytes: 2000 } })
    for (const path of [
      '/api/chat',
      '/api/generate',
      '/api/embed',
      '/api/show',
      '/api/pull',
      '/api/create',
      '/api/copy',
    ]) {
      const response = await server.post(path, body)
      expect([path, response.status, await response.json()]).toEqual([
        path,
        status,
        { error: expect.any(String) as string },
      ])
    }
  })

  it('BR-43: keys are asked for in its shape; changing models needs the admin’s', async () => {
    server = await startTestServer({
      keys: { inference: ['user'], admin: ['boss'] },
      collection: collection(() => Promise.resolve()),
    })
    const statusOf = async (method: string, path: string, key: string): Promise<number> => {
      const response = await fetch(server.url + path, {
        method,
        headers: { authorization: `Bearer ${key}` },
        ...(method === 'POST' && { body: JSON.stringify({ ...CHAT, stream: false }) }),
      })
      const text = await response.text()
      expect(/^\{"error":".+"\}$/.test(text)).toBe(response.status === 401)
      return response.status
    }
    expect(await statusOf('GET', '/api/tags', 'wrong')).toBe(401)
    expect(await statusOf('POST', '/api/chat', 'wrong')).toBe(401)
    for (const key of ['user', 'boss']) {
      expect([await statusOf('GET', '/api/tags', key), await statusOf('POST', '/api/chat', key)]).toEqual([
        200, 200,
      ])
    }
    for (const path of ['/api/pull', '/api/create', '/api/copy', '/api/push']) {
      expect([path, await statusOf('POST', path, 'user')]).toEqual([path, 401])
    }
    expect(await statusOf('POST', '/api/pull', 'boss')).toBe(200)
  })

  it('nothing is sent while it waits, so that a refusal keeps its status', async () => {
    const failure = new ModelyardError('insufficient_memory', 'No room.', { retryAfter: 2000 })
    server = await startTestServer({ limits: { heartbeat: 20 }, script: () => [after(120), failure] })
    const response = await server.post('/api/chat', CHAT)
    expect([response.status, response.headers.get('retry-after'), await response.json()]).toEqual([
      503,
      '2',
      { error: 'No room.' },
    ])
  })

  it('headers tell of the run before the first token', async () => {
    server = await startTestServer({ script: () => [STARTED, TEXT] })
    const response = await server.post('/api/generate', { model: 'alias-a', prompt: 'Hi' })
    expect(response.headers.get('modelyard-instance')).toBe('model-a#1')
    expect(linesOf(await response.text())[0]).toMatchObject({ model: 'alias-a', response: 'word ' })
  })

  it.each([
    ['/api/chat', CHAT],
    ['/api/chat', { ...CHAT, stream: false }],
    ['/api/generate', { model: 'model-a', prompt: 'Hi' }],
    ['/api/embed', { model: 'model-a', input: 'Hi' }],
  ])('BR-13: a client of %s that leaves ends the run within 250 ms', async (path, body) => {
    server = await startTestServer({
      script: (_request, signal) => [STARTED, { wait: waitForAbort(signal) }],
    })
    const took = await soonest(async () => {
      const client = new RawClient(server.port)
      client.post(path, JSON.stringify(body))
      await eventually(() => server.yard.active === 1)
      client.socket.destroy()
      return await eventually(() => server.yard.active === 0)
    })
    expect(took).toBeLessThan(AT_ONCE)
  })
})

describe('pull on the wire', () => {
  const part = (received: number): Parameters<PullOptions['onProgress']>[0] => ({
    stage: 'downloading',
    file: 'a.gguf',
    sha256: 'cd'.repeat(32),
    received,
    total: 100,
  })

  it('lines come as they happen; the sum that was promised is the digest', async () => {
    server = await startTestServer({
      collection: collection(async ({ onProgress }) => {
        onProgress({ ...part(0), total: null })
        await new Promise((resolve) => setTimeout(resolve, 20))
        onProgress(part(60))
        onProgress({ stage: 'verifying', file: 'a.gguf', received: 100, total: 100 })
        await new Promise((resolve) => setTimeout(resolve, 20))
        onProgress({ stage: 'extracting', file: 'b.gguf', received: 5, total: 10 })
      }),
    })
    const response = await server.post('/api/pull', { model: 'model-a' })
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
    expect(linesOf(await response.text())).toEqual([
      { status: 'pulling manifest' },
      { status: 'pulling cdcdcdcdcdcd', digest: `sha256:${'cd'.repeat(32)}`, completed: 0 },
      { status: 'verifying sha256 digest' },
      {
        status: expect.stringMatching(/^extracting [0-9a-f]{12}$/) as string,
        digest: expect.stringMatching(/^sha256:/) as string,
        total: 10,
        completed: 5,
      },
      { status: 'pulling abababababab', digest: `sha256:${'ab'.repeat(32)}`, total: 100, completed: 100 },
      { status: 'verifying sha256 digest' },
      { status: 'writing manifest' },
      { status: 'success' },
    ])
  })

  it('BR-09: a failure is the last line, and the status without a stream', async () => {
    server = await startTestServer({
      collection: collection(async ({ onProgress }) => {
        onProgress(part(10))
        await Promise.resolve()
        throw new ModelyardError('disk_full', 'The disk is full.')
      }),
    })
    const streamed = await server.post('/api/pull', { model: 'model-a' })
    expect([streamed.status, linesOf(await streamed.text()).at(-1)]).toEqual([
      200,
      { error: 'The disk is full.' },
    ])
    expect(server.log.length === 0 || server.log[0]?.error?.code === 'disk_full').toBe(true)
    const plain = await server.post('/api/pull', { name: 'model-a', stream: false })
    expect([plain.status, await plain.json()]).toEqual([507, { error: 'The disk is full.' }])
  })

  it('a client that leaves ends the fetch', async () => {
    let ended: unknown
    server = await startTestServer({
      collection: collection(async ({ signal, onProgress }) => {
        onProgress(part(1))
        await waitForAbort(signal).catch((reason: unknown) => {
          ended = reason
          throw reason
        })
      }),
    })
    const client = new RawClient(server.port)
    client.post('/api/pull', '{"model":"model-a"}')
    await client.until((received) => received.includes('completed'))
    client.socket.destroy()
    await eventually(() => ended !== undefined)
    expect(ended).toMatchObject({ code: 'aborted' })
  })

  it('BR-45: a client that does not read costs no memory: it gets what is true when it reads again', async () => {
    let told = 0
    server = await startTestServer({
      collection: collection(async ({ onProgress, signal }) => {
        for (; told < 40_000 && !signal.aborted; told++) {
          onProgress({ ...part(told), file: `${'x'.repeat(200)}.gguf` })
          if (told % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
        }
      }),
    })
    const client = new RawClient(server.port)
    client.socket.pause()
    client.post('/api/pull', '{"model":"model-a"}')
    await eventually(() => told === 40_000, 20_000)
    client.socket.resume()
    const received = await client.until((text) => text.includes('success'), 20_000)
    expect(received.match(/"completed"/g)?.length).toBeLessThan(2000)
    expect(received).toContain('"completed":39999')
  })

  it('without a collection it is a 501 in its shape', async () => {
    server = await startTestServer()
    for (const [path, body] of [
      ['/api/pull', { stream: false }],
      ['/api/show', {}],
      ['/api/copy', { source: 'a', destination: 'b' }],
    ] as const) {
      const response = await server.post(path, { model: 'model-a', ...body })
      expect([path, response.status, await response.json()]).toEqual([
        path,
        501,
        { error: expect.any(String) as string },
      ])
    }
  })
})
