import { afterEach, describe, expect, it } from 'vitest'
import { ModelyardError } from '../../src/base/errors.ts'
import type { Part } from '../../src/tasks/part.ts'
import { STARTED, waitForAbort, type Step } from '../http/scripted-port.ts'
import { eventually, RawClient, startTestServer, type TestServer } from '../http/test-server.ts'
import { AT_ONCE, soonest } from '../soonest.ts'

const MESSAGE = { model: 'model-a', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }
const STREAM = { ...MESSAGE, stream: true }
const TEXT: Part = { type: 'text', text: 'word ' }

let server: TestServer
afterEach(() => server.close())

function after(milliseconds: number): Step {
  return { wait: new Promise((resolve) => setTimeout(resolve, milliseconds)) }
}

interface ErrorBody {
  type: string
  error: { type: string; message: string }
  request_id: string
}

/** What SDKs hide: the bytes of the Anthropic API. */
describe('Anthropic on the wire', () => {
  it.each([
    ['POST', '/v1/messages', {}],
    ['GET', '/v1/messages', {}],
    ['POST', '/v1/messages/batches', {}],
    ['GET', '/v1/models/nobody', { 'anthropic-version': '2023-06-01' }],
    ['GET', '/anthropic/v1/models/nobody', {}],
    ['GET', '/v1/nope', { 'anthropic-version': '2023-06-01' }],
    ['POST', '/anthropic/v1/messages?beta=true', {}],
  ])(
    'BR-12, BR-40: what is wrong with %s %s comes in its shape, with its id',
    async (method, path, headers) => {
      server = await startTestServer()
      const response = await fetch(server.url + path, {
        method,
        headers: { 'content-type': 'application/json', origin: 'http://localhost:5173', ...headers },
        ...(method === 'POST' && { body: '{}' }),
      })
      expect(response.status).toBeGreaterThanOrEqual(400)
      const { type, error, request_id } = (await response.json()) as ErrorBody
      expect([type, typeof error.type, typeof error.message]).toEqual(['error', 'string', 'string'])
      expect(request_id).toMatch(/^req_[0-9a-f]{24}$/)
      expect([response.headers.get('request-id'), response.headers.get('x-request-id')]).toEqual([
        request_id,
        request_id,
      ])
      expect(response.headers.get('access-control-allow-origin')).toBe('http://localhost:5173')
    },
  )

  it.each(['/v1/chat/completions', '/v1/embeddings'])(
    'a header of Anthropic’s changes nothing for %s',
    async (path) => {
      server = await startTestServer()
      const response = await server.post(path, {}, { 'anthropic-version': '2023-06-01' })
      expect([response.status, await response.json()]).toMatchObject([400, { error: { param: 'model' } }])
      expect(response.headers.get('request-id')).toBeNull()
    },
  )

  it('the list of models is whose header is sent, HEAD too', async () => {
    server = await startTestServer()
    const headers = { 'anthropic-version': '2023-06-01' }
    const own = await fetch(`${server.url}/v1/models`, { headers })
    expect(await own.json()).toMatchObject({ data: [{ type: 'model', id: 'model-a' }], has_more: false })
    const other = await fetch(`${server.url}/v1/models`)
    expect(await other.json()).toMatchObject({ object: 'list' })
    const head = await fetch(`${server.url}/v1/models`, { method: 'HEAD', headers })
    expect([head.status, head.headers.get('content-length')]).toEqual([
      200,
      own.headers.get('content-length'),
    ])
  })

  it.each([
    ['{"model":', 400, 'invalid_request_error'],
    ['[]', 400, 'invalid_request_error'],
    ['', 400, 'invalid_request_error'],
    [`{"x":"${'y'.repeat(3000)}"}`, 413, 'request_too_large'],
  ])('a body of "%.12s" is a %d', async (body, status, type) => {
    server = await startTestServer({ limits: { bodyBytes: 2000 } })
    const response = await server.post('/v1/messages', body)
    expect([response.status, ((await response.json()) as ErrorBody).error.type]).toEqual([status, type])
  })

  it('a body that is not JSON by its own word is a 415', async () => {
    server = await startTestServer()
    expect((await server.post('/v1/messages', MESSAGE, { 'content-type': 'text/plain' })).status).toBe(415)
  })

  it('BR-43: without a key, a 401 in its shape', async () => {
    server = await startTestServer({ keys: { inference: ['k'], admin: [] } })
    for (const headers of [{}, { 'x-api-key': 'wrong' }, { authorization: 'Bearer wrong' }]) {
      const response = await server.post('/v1/messages', MESSAGE, headers)
      expect([response.status, ((await response.json()) as ErrorBody).error.type]).toEqual([
        401,
        'authentication_error',
      ])
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/)
    }
    for (const headers of [{ 'x-api-key': ' k ' }, { authorization: 'bearer  k ' }]) {
      expect((await server.post('/v1/messages', MESSAGE, headers)).status).toBe(200)
    }
  })

  it('a wait is filled with pings; what fails then is an error event, the last', async () => {
    const failure = new ModelyardError('insufficient_memory', 'No room.', { retryAfter: 2000 })
    server = await startTestServer({ limits: { heartbeat: 40 }, script: () => [after(150), failure] })
    const response = await server.post('/v1/messages', STREAM)
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ])
    const events = (await response.text()).split('\n\n').filter((event) => event !== '')
    expect(events.slice(0, -1).length).toBeGreaterThan(0)
    expect(new Set(events.slice(0, -1))).toEqual(new Set(['event: ping\ndata: {"type":"ping"}']))
    const [name, data = ''] = events.at(-1)?.split('\ndata: ') ?? []
    expect([name, JSON.parse(data)]).toEqual([
      'event: error',
      {
        type: 'error',
        error: { type: 'overloaded_error', message: 'No room.' },
        request_id: response.headers.get('request-id'),
      },
    ])
  })

  it('pings go on in a silent answer, and the facts that no header had come with the last usage', async () => {
    server = await startTestServer({
      limits: { heartbeat: 40 },
      *script() {
        yield after(150)
        yield STARTED
        yield TEXT
        yield after(150)
      },
    })
    const text = await (await server.post('/v1/messages', STREAM)).text()
    expect(text).toMatch(/^(event: ping\n.*\n\n)+event: message_start\n/)
    expect(text).toMatch(/"text":"word "}}\n\n(event: ping\n.*\n\n)+event: content_block_stop/)
    expect(text).toMatch(
      /event: message_delta\n.*"modelyard":{"model":"model-a","instance":"model-a#1","queue_ms":2/,
    )
  })

  it('without a wait there is no ping, and refusals keep their status', async () => {
    server = await startTestServer({
      script: () => [after(60), new ModelyardError('queue_full', 'Full.', { retryAfter: 2500 })],
    })
    const response = await server.post('/v1/messages', STREAM)
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '3'])
  })

  it.each([
    [
      'while the model loads, in one piece',
      MESSAGE,
      (signal: AbortSignal) => [{ wait: waitForAbort(signal) }],
    ],
    ['while the model loads, streamed', STREAM, (signal: AbortSignal) => [{ wait: waitForAbort(signal) }]],
    ['in the answer', STREAM, (signal: AbortSignal) => [STARTED, TEXT, { wait: waitForAbort(signal) }]],
  ])('BR-13: a client that leaves %s ends the run within 250 ms', async (_when, body, script) => {
    server = await startTestServer({ script: (_request, signal) => script(signal) })
    const took = await soonest(async () => {
      const client = new RawClient(server.port)
      client.post('/v1/messages', JSON.stringify(body))
      await eventually(() => server.yard.active === 1)
      client.socket.destroy()
      return await eventually(() => server.yard.active === 0)
    })
    expect(took).toBeLessThan(AT_ONCE)
    expect(new Set(server.yard.outcomes)).toEqual(new Set(['aborted']))
  })

  it('BR-13: a client that leaves while its tokens are counted ends the count', async () => {
    server = await startTestServer()
    let counting = 0
    server.yard.countTokens = async (
      _model?: string,
      _task?: unknown,
      signal?: AbortSignal,
    ): Promise<number> => {
      counting++
      await waitForAbort(signal ?? new AbortController().signal).finally(() => counting--)
      return 0
    }
    const took = await soonest(async () => {
      const client = new RawClient(server.port)
      client.post('/v1/messages/count_tokens', JSON.stringify(MESSAGE))
      await eventually(() => counting === 1)
      client.socket.destroy()
      return await eventually(() => counting === 0)
    })
    expect(took).toBeLessThan(AT_ONCE)
  })
})
