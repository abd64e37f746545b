import { fastify } from 'fastify'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CHAT, eventually, RawClient, startTestServer, type TestServer } from './test-server.ts'

const PATH = '/v1/chat/completions'

describe('H7: the yard inside somebody else’s server', () => {
  let yard: TestServer
  let host: Server | undefined
  beforeEach(async () => {
    yard = await startTestServer()
  })
  afterEach(async () => {
    host?.closeAllConnections()
    host?.close()
    await yard.close()
  })

  async function listen(listener: RequestListener): Promise<string> {
    const server = createServer(listener)
    host = server
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  function post(url: string, body: unknown = CHAT): Promise<Response> {
    return fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  }

  it('node:http takes the handler as it is', async () => {
    const url = await listen(yard.server.handler)
    expect((await post(url + PATH)).status).toBe(200)
    expect(await (await post(url + PATH, { ...CHAT, stream: true })).text()).toContain('[DONE]')
  })

  it('a router that cuts a prefix off can mount it', async () => {
    const url = await listen((request, response) => {
      request.url = (request.url ?? '').replace(/^\/ai/, '')
      yard.server.handler(request, response)
    })
    expect((await post(`${url}/ai${PATH}`)).status).toBe(200)
  })

  it('a body that was parsed before is taken as it is', async () => {
    const url = await listen((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        Object.assign(request, { body: JSON.parse(Buffer.concat(chunks).toString()) as unknown })
        setTimeout(() => yard.server.handler(request, response), 5)
      })
    })
    expect((await post(url + PATH)).status).toBe(200)
    expect((await post(url + PATH, { ...CHAT, messages: [] })).status).toBe(400)
  })

  it('a body that was read and thrown away is a 400, not a hang', async () => {
    const url = await listen((request, response) => {
      request.resume()
      request.on('end', () => setTimeout(() => yard.server.handler(request, response), 5))
    })
    expect((await post(url + PATH)).status).toBe(400)
  })

  it('a client that left before the handler was called starts nothing', async () => {
    const steps: string[] = []
    const url = await listen((request, response) => {
      steps.push('came')
      response.on('close', () => {
        yard.server.handler(request, response)
        steps.push('handled')
      })
    })
    const client = new RawClient(Number(new URL(url).port))
    client.post(PATH, JSON.stringify(CHAT))
    await eventually(() => steps.includes('came'))
    client.socket.destroy()
    await eventually(() => steps.includes('handled'))
    expect(yard.yard.requests).toEqual([])
    expect(yard.yard.active).toBe(0)
  })

  it('fastify takes the plugin, under a prefix, beside routes of its own', async () => {
    const app = fastify()
    app.post('/own', (request) => ({ got: request.body }))
    await app.register(yard.server.plugin, { prefix: '/ai' })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    try {
      expect(await (await post(`${url}/own`, { a: 1 })).json()).toEqual({ got: { a: 1 } })
      expect(await (await post(`${url}/ai${PATH}`)).json()).toMatchObject({ object: 'chat.completion' })
      expect(await (await post(`${url}/ai${PATH}`, { ...CHAT, stream: true })).text()).toContain('[DONE]')
      expect((await fetch(`${url}/ai/v1/models?x=1`)).status).toBe(200)
      expect((await post(`${url}/ai${PATH}`, { ...CHAT, messages: [] })).status).toBe(400)
      expect(
        (await fetch(`${url}/ai/v1/models`, { method: 'OPTIONS', headers: { origin: 'http://localhost' } }))
          .status,
      ).toBe(204)
    } finally {
      await app.close()
    }
  })
})
