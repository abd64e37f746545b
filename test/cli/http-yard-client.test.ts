import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { listenTo } from '../../src/cli/answer-text.ts'
import { HttpYardClient } from '../../src/cli/http-yard-client.ts'
import type { Question } from '../../src/cli/yard-client.ts'

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void

describe('the client of a running server', () => {
  let server: Server | undefined
  afterEach(async () => {
    server?.closeAllConnections()
    await new Promise((resolve) => server?.close(resolve) ?? resolve(undefined))
  })

  async function clientOf(handler: Handler, key?: string): Promise<HttpYardClient> {
    server = createServer((request, response) => {
      let body = ''
      request
        .on('data', (data: Buffer) => (body += data.toString()))
        .on('end', () => handler(request, response, body))
    })
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    return new HttpYardClient({ pid: 1, url: `http://127.0.0.1:${port}` }, () => Promise.resolve(key))
  }

  function question(signal: AbortSignal = new AbortController().signal): Question {
    return {
      model: 'tiny',
      messages: [{ role: 'user', content: 'hi' }],
      sampling: { temperature: 0, seed: 0 },
      maxTokens: 0,
      signal,
    }
  }

  const SILENT = { text: () => undefined }

  it('asks with what was asked for, zeros included, and nothing else', async () => {
    let sent: unknown
    const client = await clientOf((_, response, body) => {
      sent = JSON.parse(body)
      response.setHeader('content-type', 'text/event-stream')
      response.end(
        'data: {"choices":[{"delta":{"content":"yes"},"finish_reason":null}]}\n\n' +
          'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
      )
    })
    const answer = await listenTo(client.ask(question()), SILENT)
    expect(answer).toMatchObject({ text: 'yes', summary: { finishReason: 'stop' } })
    expect(sent).toEqual({
      model: 'tiny',
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0,
      seed: 0,
      max_tokens: 0,
      priority: 'interactive',
    })
  })

  it("the server's own error comes out with its code, also under OpenAI's name for it", async () => {
    const errors = [
      [404, { error: { code: 'model_not_found', message: 'No such model.', type: 'x', param: null } }],
      [429, { error: { code: 'rate_limit_exceeded', message: 'Full.' } }],
      [502, 'not json'],
    ] as const
    let next = 0
    const client = await clientOf((_, response) => {
      const [status, body] = errors[next++] ?? [500, '']
      response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
    })
    await expect(client.show('x')).rejects.toMatchObject({
      code: 'model_not_found',
      message: 'No such model.',
    })
    await expect(client.show('x')).rejects.toMatchObject({ code: 'queue_full' })
    await expect(client.show('x')).rejects.toMatchObject({
      code: 'internal',
      message: 'The server answered 502.',
    })
  })

  it('sends the key once the server asks for one, and says so when there is none', async () => {
    const handler: Handler = (request, response) => {
      const right = request.headers.authorization === 'Bearer sesame'
      response
        .writeHead(right ? 200 : 401)
        .end(right ? '{"models":[],"data":[]}' : '{"error":{"code":"unauthorized","message":"Key?"}}')
    }
    expect(await (await clientOf(handler, 'sesame')).list()).toEqual([])
    await expect((await clientOf(handler)).list()).rejects.toMatchObject({
      code: 'unauthorized',
      message: expect.stringContaining('MODELYARD_API_KEY') as string,
    })
    await expect((await clientOf(handler, 'wrong')).list()).rejects.toMatchObject({ code: 'unauthorized' })
  })

  it('an interrupt closes the connection, before the first byte and in the middle', async () => {
    let connections = 0
    const client = await clientOf((request, response) => {
      connections++
      request.socket.once('close', () => connections--)
      if (connections === 1 && request.headers.accept === 'text/event-stream') {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('data: {"choices":[{"delta":{"content":"half"},"finish_reason":null}]}\n\n')
      }
    })
    const controller = new AbortController()
    const answer = listenTo(client.ask(question(controller.signal)), { text: () => controller.abort() })
    await expect(answer).rejects.toMatchObject({ text: 'half', cause: { code: 'aborted' } })
    const loading = new AbortController()
    const load = client.load('tiny', { signal: loading.signal })
    loading.abort()
    await expect(load).rejects.toMatchObject({ code: 'aborted' })
    await expect.poll(() => connections).toBe(0)
  })

  it('a connection that breaks in the middle is an error, never an end (R12)', async () => {
    const client = await clientOf((request, response) => {
      response.write('data: {"choices":[{"delta":{"content":"half"},"finish_reason":null}]}\n\n', () =>
        request.socket.destroy(),
      )
    })
    await expect(listenTo(client.ask(question()), SILENT)).rejects.toMatchObject({
      text: 'half',
      cause: { code: 'internal', message: expect.stringContaining('broke the answer off') as string },
    })
  })

  it('a server that has gone is told with what to do', async () => {
    const client = new HttpYardClient({ pid: 1, url: 'http://127.0.0.1:1' }, () => Promise.resolve(undefined))
    await expect(client.state()).rejects.toMatchObject({
      message: expect.stringContaining('modelyard doctor') as string,
    })
  })
})
