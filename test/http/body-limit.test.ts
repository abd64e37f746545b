import { afterEach, describe, expect, it } from 'vitest'
import { CHAT, eventually, RawClient, startTestServer, type TestServer } from './test-server.ts'

const PATH = '/v1/chat/completions'
const LIMIT = 1_000_000

let server: TestServer
afterEach(() => server.close())

/** A chat request of exactly so many bytes. */
function bodyOf(bytes: number): string {
  const empty = JSON.stringify({ ...CHAT, messages: [{ role: 'user', content: '' }] })
  return empty.replace('"content":""', `"content":"${'x'.repeat(bytes - empty.length)}"`)
}

describe('BR-10: large bodies', () => {
  it('the limit itself is taken, one byte more is a 413 in the API’s shape with CORS headers', async () => {
    server = await startTestServer({ limits: { bodyBytes: LIMIT } })
    const origin = 'http://localhost:5173'
    expect((await server.post(PATH, bodyOf(LIMIT), { origin })).status).toBe(200)
    const response = await server.post(PATH, bodyOf(LIMIT + 1), { origin })
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([413, origin])
    expect(await response.json()).toMatchObject({
      error: { type: 'invalid_request_error', code: 'payload_too_large' },
    })
  })

  it('a chunked body without a length is counted as it comes', async () => {
    server = await startTestServer({ limits: { bodyBytes: LIMIT } })
    const send = (bytes: number): Promise<Response> =>
      fetch(server.url + PATH, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: new Blob([bodyOf(bytes)]).stream(),
        duplex: 'half',
      })
    expect((await send(LIMIT)).status).toBe(200)
    expect((await send(LIMIT + 1)).status).toBe(413)
  })

  it('a client that writes all before it reads still gets the 413, not a reset', async () => {
    server = await startTestServer({ limits: { bodyBytes: LIMIT } })
    for (const connection of ['keep-alive', 'close']) {
      const client = new RawClient(server.port)
      client.socket.pause()
      client.post(PATH, bodyOf(20 * LIMIT), `Connection: ${connection}\r\n`)
      await eventually(() => client.socket.writableLength === 0, 10_000)
      client.socket.resume()
      expect(await client.until((text) => text.includes('}}'))).toMatch(/^HTTP\/1.1 413 /)
      client.socket.destroy()
    }
  })

  it('after a refused upload the connection serves the next request', async () => {
    server = await startTestServer({ limits: { bodyBytes: 1000 } })
    const client = new RawClient(server.port)
    client.post(PATH, bodyOf(50_000))
    await client.until((text) => text.includes('}}'))
    client.received = ''
    client.post(PATH, JSON.stringify(CHAT))
    expect(await client.until((text) => text.includes('}}'))).toContain('200 OK')
    client.socket.destroy()
  })

  it('an endless upload is cut', async () => {
    server = await startTestServer({ limits: { bodyBytes: 1000 } })
    const client = new RawClient(server.port)
    client.send(
      `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100000000000\r\n\r\n`,
    )
    const megabyte = Buffer.alloc(1_000_000, 32)
    const flood = (): void => {
      if (!client.socket.destroyed && client.socket.writable) client.socket.write(megabyte, flood)
    }
    flood()
    await eventually(() => client.closed, 30_000)
    expect(client.received).toMatch(/^HTTP\/1.1 413 /)
    client.socket.destroy()
  })

  it('64 MiB by default: a 4 MB image to a model without images is refused for that', async () => {
    server = await startTestServer()
    const model = server.yard.models[0]
    if (model?.capabilities) model.capabilities = { ...model.capabilities, images: false }
    const url = `data:image/png;base64,${Buffer.alloc(3_000_000).toString('base64')}`
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
    const response = await server.post(PATH, { ...CHAT, messages })
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('does not support images'),
    ])
  })

  it('20 MB of text are taken', async () => {
    server = await startTestServer()
    expect((await server.post(PATH, bodyOf(20_000_000))).status).toBe(200)
  })
})
