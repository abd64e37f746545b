import { afterEach, describe, expect, it } from 'vitest'
import { ModelyardError, type ErrorCode } from '../../src/base/errors.ts'
import type { Part } from '../../src/tasks/part.ts'
import { gate, RESULT, STARTED, type Step } from './scripted-port.ts'
import { CHAT, eventually, RawClient, startTestServer, type TestServer } from './test-server.ts'

const PATH = '/v1/chat/completions'
const STREAM = { ...CHAT, stream: true }
const TEXT: Part = { type: 'text', text: 'word ' }

let server: TestServer
afterEach(() => server.close())

function after(milliseconds: number): Step {
  return { wait: new Promise((resolve) => setTimeout(resolve, milliseconds)) }
}

function events(text: string): string[] {
  return text.split('\n\n').filter((event) => event !== '')
}

describe('errors before the first byte', () => {
  it.each([
    ['context_length_exceeded', 400],
    ['invalid_request', 400],
    ['unsupported', 400],
    ['model_not_found', 404],
    ['queue_full', 429],
    ['internal', 500],
    ['engine_failed', 500],
    ['engine_missing', 501],
    ['insufficient_memory', 503],
    ['model_load_failed', 503],
    ['shutting_down', 503],
    ['worker_exited', 503],
    ['timeout', 504],
    ['model_too_large', 507],
  ] as [ErrorCode, number][])('%s has status %d, asked as a stream or not', async (code, status) => {
    server = await startTestServer({ script: () => [new ModelyardError(code, 'Why.', { retryAfter: 2500 })] })
    for (const body of [CHAT, STREAM]) {
      const response = await server.post(PATH, body)
      expect([response.status, response.headers.get('content-type')]).toEqual([status, 'application/json'])
      const retry = status === 429 || status === 503 ? ['3', '2500'] : [null, null]
      expect([response.headers.get('retry-after'), response.headers.get('retry-after-ms')]).toEqual(retry)
      await response.json()
    }
  })

  it('what cannot help to repeat says so to SDKs that repeat every 5xx', async () => {
    server = await startTestServer({ script: () => [new ModelyardError('model_too_large', 'Never fits.')] })
    expect((await server.post(PATH, CHAT)).headers.get('x-should-retry')).toBe('false')
    expect((await server.post(PATH, { ...CHAT, store: true })).headers.get('x-should-retry')).toBe('false')
  })

  it('a bug’s own words stay inside, and the log has them', async () => {
    server = await startTestServer({ script: () => [new TypeError('secret of the user')] })
    const response = await server.post(PATH, CHAT)
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('secret')
    await eventually(() => server.log.length === 1)
    expect(server.log[0]?.error?.cause).toMatchObject({ message: 'secret of the user' })
  })

  it.each([
    ['timeout', 504, 'timeout'],
    ['abort', 503, 'aborted'],
  ] as const)('P13: a run that was cut (%s) is an error over HTTP', async (finishReason, status, code) => {
    server = await startTestServer({ result: { ...RESULT, finishReason } })
    const response = await server.post(PATH, CHAT)
    expect([response.status, await response.json()]).toEqual([
      status,
      { error: expect.objectContaining({ code }) as unknown },
    ])
  })

  it('R12: a run without a result is an error, never an answer', async () => {
    server = await startTestServer({ result: () => undefined as never })
    expect((await server.post(PATH, CHAT)).status).toBe(500)
    const streamed = await (await server.post(PATH, STREAM)).text()
    expect(streamed).toMatch(/data: {"error":.*}\n\ndata: \[DONE\]\n\n$/)
    expect(streamed).not.toContain('"finish_reason":"')
  })
})

describe('headers of a stream', () => {
  it('go out with the first part, long before the first token', async () => {
    const { open, wait } = gate()
    server = await startTestServer({ script: () => [STARTED, { wait }, TEXT] })
    const response = await server.post(PATH, STREAM)
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ])
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'cache-control': 'no-cache',
      'modelyard-model': 'model-a',
      'modelyard-instance': 'model-a#1',
      'modelyard-queue-ms': '2',
      'modelyard-load-ms': '0',
      'modelyard-cached-tokens': '3',
    })
    open()
    expect(events(await response.text()).at(-1)).toBe('data: [DONE]')
  })

  it('wait for the first part, so that a refusal after a wait keeps its status', async () => {
    server = await startTestServer({ script: () => [after(150), new ModelyardError('queue_full', 'Full.')] })
    expect((await server.post(PATH, STREAM)).status).toBe(429)
  })

  it('after a long wait go out with a sign of life, and the facts follow in the final usage', async () => {
    const { open, wait } = gate()
    server = await startTestServer({ limits: { heartbeat: 40 }, script: () => [{ wait }, STARTED, TEXT] })
    const client = new RawClient(server.port)
    client.post(PATH, JSON.stringify({ ...STREAM, stream_options: { include_usage: true } }))
    const head = await client.until((text) => text.split(': waiting\n\n').length > 2)
    expect(head).not.toMatch(/modelyard-model/i)
    open()
    const text = await client.until((received) => received.endsWith('0\r\n\r\n'))
    expect(text).toContain('"modelyard":{"model":"model-a","instance":"model-a#1"')
    expect(text).toMatch(/data: \[DONE\]\n\n\r\n0\r\n\r\n$/)
    client.socket.destroy()
  })

  it('a failure after a sign of life comes inside the stream', async () => {
    server = await startTestServer({
      limits: { heartbeat: 30 },
      script: () => [after(100), new ModelyardError('model_load_failed', 'No such luck.')],
    })
    const response = await server.post(PATH, STREAM)
    const [first, ...rest] = events(await response.text()).filter((event) => event !== ': waiting')
    expect(response.status).toBe(200)
    expect(first).toContain('"code":"model_load_failed"')
    expect(rest).toEqual(['data: [DONE]'])
  })

  it('an answer in one piece gets no signs of life', async () => {
    server = await startTestServer({ limits: { heartbeat: 30 }, script: () => [after(120), STARTED, TEXT] })
    const response = await server.post(PATH, CHAT)
    expect(((await response.json()) as { object: string }).object).toBe('chat.completion')
  })
})

describe('BR-09: failures in mid-stream', () => {
  it('one error event and the terminator, no finish chunk, and the next request works', async () => {
    server = await startTestServer({
      script: () => [STARTED, TEXT, TEXT, TEXT, new ModelyardError('worker_exited', 'The worker ended.')],
    })
    const list = events(await (await server.post(PATH, STREAM)).text())
    expect(list.slice(-2)).toEqual([
      'data: {"error":{"message":"The worker ended.","type":"server_error","param":null,"code":"worker_exited"}}',
      'data: [DONE]',
    ])
    expect(
      list.filter((event) => event.includes('"error"') || event.includes('"finish_reason":"')),
    ).toHaveLength(1)
    expect(server.yard.active).toBe(0)
    server.yard.script = () => [STARTED, TEXT]
    expect(events(await (await server.post(PATH, STREAM)).text()).at(-2)).toContain('"finish_reason":"stop"')
  })

  it('closes at once: the connection is free for the next request', async () => {
    server = await startTestServer({ script: () => [STARTED, new ModelyardError('internal', 'No.')] })
    const client = new RawClient(server.port)
    client.post(PATH, JSON.stringify(STREAM))
    await client.until((text) => text.includes('[DONE]'))
    client.received = ''
    client.send('GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    expect(await client.until((text) => text.includes('"list"'))).toContain('200 OK')
    client.socket.destroy()
  })

  it('a normal end of a very long answer has its terminator', async () => {
    server = await startTestServer({
      *script() {
        yield STARTED
        for (let index = 0; index < 20_000; index++) yield TEXT
      },
    })
    const list = events(await (await server.post(PATH, STREAM)).text())
    expect([list.length, list.at(-1)]).toEqual([20_003, 'data: [DONE]'])
  })
})

describe('several prompts', () => {
  it('run one after the other, never two at once', async () => {
    server = await startTestServer()
    let most = 0
    server.yard.script = () => {
      most = Math.max(most, server.yard.active)
      return [STARTED, after(5), TEXT]
    }
    const body = { model: 'model-a', prompt: ['a', 'b', 'c'] }
    const answer = (await (await server.post('/v1/completions', body)).json()) as {
      choices: { index: number }[]
    }
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1, 2])
    expect(most).toBe(1)
  })

  it('stop with the first that fails', async () => {
    server = await startTestServer()
    server.yard.script = ({ task }) =>
      task.kind === 'completion' && task.prompt === 'b'
        ? [new ModelyardError('engine_failed', 'No.')]
        : [STARTED]
    const response = await server.post('/v1/completions', { model: 'model-a', prompt: ['a', 'b', 'c'] })
    expect([response.status, server.yard.requests.length]).toEqual([500, 2])
  })
})

describe('what the model lacks', () => {
  it.each([
    [
      'images',
      400,
      {
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: 'data:image/png;base64,iVBORw==' }] },
        ],
      },
      'messages',
    ],
    ['tools', 400, { tools: [{ type: 'function', function: { name: 'a' } }] }, 'tools'],
    ['reasoning', 400, { reasoning_effort: 'high' }, 'reasoning_effort'],
    ['logprobs', 501, { logprobs: true }, 'logprobs'],
  ] as const)('BR-10: %s are refused with %d and nothing is started', async (name, status, fields, param) => {
    server = await startTestServer()
    const model = server.yard.models[0]
    if (model?.capabilities) model.capabilities = { ...model.capabilities, [name]: false }
    const response = await server.post(PATH, { ...CHAT, ...fields })
    expect([response.status, await response.json()]).toEqual([
      status,
      {
        error: expect.objectContaining({
          param,
          code: 'unsupported',
          message: `The model "model-a" does not support ${name} here.`,
        }) as unknown,
      },
    ])
    expect(server.yard.requests).toEqual([])
  })

  it('E1: a kind of task that the model is not for is a clear 400', async () => {
    server = await startTestServer()
    const model = server.yard.models[0]
    if (model?.capabilities) model.capabilities = { ...model.capabilities, tasks: ['embedding'] }
    const response = await server.post(PATH, CHAT)
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('does not support chat'),
    ])
  })
})

describe('P16: a slow reader', () => {
  it('stops the flow instead of filling the memory, and gets all of it in the end', async () => {
    let yielded = 0
    const total = 4000
    server = await startTestServer({
      *script() {
        yield STARTED
        for (; yielded < total; yielded++) yield { type: 'text', text: 'x'.repeat(10_000) }
      },
    })
    const client = new RawClient(server.port)
    client.post(PATH, JSON.stringify(STREAM))
    await client.until((text) => text.includes('x'))
    client.socket.pause()
    // The kernel's own buffers fill first, in as many turns as the machine is busy.
    let last = -1
    let stands = 0
    await eventually(() => {
      stands = yielded === last ? stands + 1 : 0
      last = yielded
      return stands > 20
    })
    expect(yielded).toBeLessThan(total)
    client.socket.resume()
    await client.until((text) => text.endsWith('data: [DONE]\n\n\r\n0\r\n\r\n'), 20_000)
    expect(yielded).toBe(total)
    expect(client.received).toMatch(/0\r\n\r\n$/)
    client.socket.destroy()
  })

  it('that leaves while it is waited for ends the run', async () => {
    server = await startTestServer({
      *script() {
        yield STARTED
        for (;;) yield { type: 'text', text: 'x'.repeat(10_000) }
      },
    })
    const client = new RawClient(server.port)
    client.post(PATH, JSON.stringify(STREAM))
    await client.until((text) => text.includes('x'))
    client.socket.pause()
    await new Promise((resolve) => setTimeout(resolve, 100))
    client.socket.resetAndDestroy()
    await eventually(() => server.yard.active === 0)
    expect(server.yard.outcomes).toEqual(['returned'])
  })
})

describe('speed of streams', () => {
  it('parts that are ready in the same turn share one write', async () => {
    const { open, wait } = gate()
    const words: Part[] = Array.from({ length: 50 }, () => TEXT)
    server = await startTestServer({ script: () => [STARTED, { wait }, ...words] })
    const client = new RawClient(server.port)
    client.post(PATH, JSON.stringify(STREAM))
    await client.until((text) => text.includes('assistant'))
    open()
    await client.until((text) => text.endsWith('0\r\n\r\n'))
    const chunks = client.received.match(/\r\n[\da-f]+\r\n/g) ?? []
    expect(chunks.length).toBeLessThanOrEqual(5)
    expect(client.received.match(/word /g)).toHaveLength(50)
    client.socket.destroy()
  })

  it('a part is sent when it comes, not when the next one does', async () => {
    const { open, wait } = gate()
    server = await startTestServer({ script: () => [STARTED, TEXT, { wait }, TEXT] })
    const client = new RawClient(server.port)
    client.post(PATH, JSON.stringify(STREAM))
    expect(await client.until((text) => text.includes('word '))).not.toContain('[DONE]')
    open()
    expect(await client.until((text) => text.includes('[DONE]'))).toMatch(/word .*word /s)
    client.socket.destroy()
  })
})
