import { afterEach, describe, expect, it } from 'vitest'
import { STARTED } from './scripted-port.ts'
import { CHAT, RawClient, startTestServer, type TestServer } from './test-server.ts'

const PATH = '/v1/chat/completions'

let server: TestServer
afterEach(() => server.close())

const SDK_HEADERS =
  'authorization,content-type,x-stainless-os,x-stainless-helper-method,x-stainless-timeout,dangerously-allow-browser'

function preflight(origin: string, path = PATH): Promise<Response> {
  return fetch(server.url + path, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': SDK_HEADERS,
    },
  })
}

describe('BR-11: CORS', () => {
  it.each([
    'http://localhost:5173',
    'http://127.0.0.1:3000',
    'https://localhost',
    'http://[::1]:8080',
    'app://obsidian.md',
    'tauri://localhost',
    'vscode-webview://abc',
  ])('%s may: the preflight echoes what is asked and needs no key', async (origin) => {
    server = await startTestServer({ keys: { inference: ['k'], admin: [] } })
    const response = await preflight(origin)
    expect(response.status).toBe(204)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-headers': SDK_HEADERS,
      'access-control-allow-methods': expect.stringContaining('POST') as string,
      vary: expect.stringContaining('Origin') as string,
    })
  })

  it.each([
    'null',
    'https://evil.example',
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
    'https://evil.example/app://x',
  ])('%s may not by default', async (origin) => {
    server = await startTestServer()
    const response = await preflight(origin)
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([204, null])
    expect(response.headers.get('vary')).toContain('Origin')
  })

  it('the setting decides', async () => {
    server = await startTestServer({ cors: { origins: ['https://my.app', 'https://*.example.com'] } })
    const allowed = await Promise.all(
      ['https://my.app', 'https://a.example.com', 'https://example.com', 'http://localhost:5173'].map(
        async (origin) => (await preflight(origin)).headers.get('access-control-allow-origin'),
      ),
    )
    expect(allowed).toEqual(['https://my.app', 'https://a.example.com', null, null])
  })

  it('answers, errors and streams carry the headers too', async () => {
    server = await startTestServer({ keys: { inference: ['k'], admin: [] } })
    const origin = 'http://localhost:5173'
    const key = { origin, authorization: 'Bearer k' }
    const answers = [
      await server.post(PATH, CHAT, key),
      await server.post(PATH, { ...CHAT, stream: true }, key),
      await server.post(PATH, 'no json', key),
      await server.post(PATH, CHAT, { origin }),
      await server.post('/v1/nope', CHAT, key),
      await fetch(`${server.url}${PATH}`, { headers: key }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 401, 404, 405])
    for (const { headers } of answers) {
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      expect(headers.get('access-control-expose-headers')).toContain('x-request-id')
    }
  })

  it.each(['/api/chat', '/api/generate', '/api/tags', '/api/pull', '/api/delete', '/api/blobs/sha256:00'])(
    'the official Ollama client in a page: the preflight of %s allows its headers and DELETE, without a key',
    async (path) => {
      server = await startTestServer({ keys: { inference: ['k'], admin: [] } })
      const asked = 'accept,authorization,content-type,user-agent'
      const answer = await fetch(server.url + path, {
        method: 'OPTIONS',
        headers: {
          origin: 'http://localhost:5173',
          'access-control-request-method': path === '/api/delete' ? 'DELETE' : 'POST',
          'access-control-request-headers': asked,
        },
      })
      expect(answer.status).toBe(204)
      expect(answer.headers.get('access-control-allow-headers')).toBe(asked)
      expect(answer.headers.get('access-control-allow-methods')).toContain('DELETE')
    },
  )

  it('a browser that asks to reach the private network may where its origin may', async () => {
    server = await startTestServer()
    const headers = { 'access-control-request-private-network': 'true' }
    const ask = async (origin: string): Promise<string | null> =>
      (await fetch(server.url + PATH, { method: 'OPTIONS', headers: { ...headers, origin } })).headers.get(
        'access-control-allow-private-network',
      )
    expect([await ask('http://localhost:1'), await ask('https://evil.example')]).toEqual(['true', null])
  })
})

describe('BR-43: API keys', () => {
  const keys = { inference: ['secret-key', 'other-key'], admin: [] }

  it.each([
    ['Bearer', { authorization: 'Bearer secret-key' }],
    ['a lower-case scheme', { authorization: 'bearer secret-key' }],
    ['extra spaces', { authorization: '  Bearer   secret-key  ' }],
    ['x-api-key', { 'x-api-key': 'secret-key' }],
    ['the second key', { 'x-api-key': 'other-key' }],
    ['a wrong Bearer beside a right x-api-key', { authorization: 'Bearer dummy', 'x-api-key': 'secret-key' }],
    ['a right Bearer beside a wrong x-api-key', { authorization: 'Bearer secret-key', 'x-api-key': 'dummy' }],
  ])('%s opens', async (_what, headers) => {
    server = await startTestServer({ keys })
    expect((await server.post(PATH, CHAT, headers)).status).toBe(200)
  })

  it.each([
    ['no key', {}],
    ['a wrong one', { authorization: 'Bearer nope' }],
    ['a longer one', { authorization: 'Bearer secret-key2' }],
    ['another scheme', { authorization: 'Basic secret-key' }],
    ['an empty one', { 'x-api-key': '' }],
    ['the key without a scheme', { authorization: 'secret-key' }],
  ])('%s is a 401 in the API’s shape', async (_what, headers) => {
    server = await startTestServer({ keys })
    const response = await server.post(PATH, CHAT, headers)
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer realm="modelyard"',
    ])
    expect(await response.json()).toEqual({
      error: {
        type: 'authentication_error',
        code: 'invalid_api_key',
        param: null,
        message: expect.stringContaining('API key') as string,
      },
    })
    expect(server.yard.requests).toEqual([])
  })

  it('no route that shows or changes anything is open, but for the health checks', async () => {
    server = await startTestServer({ keys })
    const closed = [
      '/v1/models',
      '/v1/models/model-a',
      '/openai/v1/models',
      '/api/yard/state',
      '/api/yard/events',
      '/',
      '/nope',
      '/metrics',
    ]
    for (const path of closed) expect([path, (await fetch(server.url + path)).status]).toEqual([path, 401])
    for (const path of ['/v1/embeddings', '/api/yard/load', '/api/yard/unload']) {
      expect([path, (await server.post(path, {})).status]).toEqual([path, 401])
    }
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  })

  it('H6: admin keys are apart: they open both, the others only the APIs', async () => {
    server = await startTestServer({ keys: { inference: ['user'], admin: ['boss'] } })
    const status = async (path: string, key: string): Promise<number> =>
      (await fetch(server.url + path, { headers: { 'x-api-key': key } })).status
    expect([
      await status('/v1/models', 'user'),
      await status('/v1/models', 'boss'),
      await status('/api/yard/state', 'user'),
      await status('/api/yard/state', 'boss'),
    ]).toEqual([200, 200, 401, 200])
  })

  it('an upload without a key is not read into memory first', async () => {
    server = await startTestServer({ keys })
    const response = await server.post(PATH, 'x'.repeat(5_000_000))
    expect(response.status).toBe(401)
  })
})

describe('BR-46: a keyless server and the pages of the world', () => {
  async function raw(head: string, body = ''): Promise<string> {
    const client = new RawClient(server.port)
    client.send(
      `${head}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    const text = await client.until((received) => received.includes('\r\n\r\n'))
    client.socket.destroy()
    return text.split(' ')[1] ?? ''
  }

  it.each([
    ['evil.example:PORT', '403'],
    ['evil.example', '403'],
    ['localhost.evil.example', '403'],
    ['127.0.0.1.evil.example', '403'],
    ['localhost', '200'],
    ['LOCALHOST:PORT', '200'],
    ['app.localhost:PORT', '200'],
    ['127.0.0.1:PORT', '200'],
    ['[::1]:PORT', '200'],
    ['192.168.1.7:PORT', '200'],
    ['my-box.lan:PORT', '200'],
  ])('Host: %s gets %s', async (host, status) => {
    server = await startTestServer({ allowedHosts: ['my-box.lan'] })
    const named = host.replace('PORT', String(server.port))
    expect(await raw(`GET /v1/models HTTP/1.1\r\nHost: ${named}`)).toBe(status)
    expect(await raw(`POST ${PATH} HTTP/1.1\r\nHost: ${named}`, JSON.stringify(CHAT))).toBe(status)
    expect(await raw(`POST /api/yard/unload HTTP/1.1\r\nHost: ${named}`, '{"model":"model-a"}')).toBe(status)
  })

  it('no Host at all (HTTP/1.0) is no browser', async () => {
    server = await startTestServer()
    expect(await raw('GET /v1/models HTTP/1.0')).toBe('200')
  })

  it.each([
    ['https://evil.example', 403],
    ['null', 403],
    ['http://localhost:5173', 200],
    ['app://obsidian.md', 200],
  ])('a POST from origin %s gets %d', async (origin, status) => {
    server = await startTestServer()
    expect((await server.post(PATH, CHAT, { origin })).status).toBe(status)
    expect((await server.post('/api/yard/load', { model: 'model-a' }, { origin })).status).toBe(status)
    expect(server.yard.requests.length).toBe(status === 200 ? 1 : 0)
  })

  it('a simple POST with text/plain, which needs no preflight, is refused', async () => {
    server = await startTestServer()
    const headers = { origin: 'https://evil.example', 'content-type': 'text/plain' }
    expect((await server.post(PATH, JSON.stringify(CHAT), headers)).status).toBe(403)
  })

  it('a page of the server itself may use it', async () => {
    server = await startTestServer({ cors: { origins: [] } })
    expect((await server.post(PATH, CHAT, { origin: server.url })).status).toBe(200)
    expect((await server.post(PATH, CHAT, { origin: 'http://127.0.0.1:1' })).status).toBe(403)
  })

  it('with a key, the key decides: any host and origin', async () => {
    server = await startTestServer({ keys: { inference: ['k'], admin: [] } })
    const headers = { origin: 'https://chat.example', 'x-api-key': 'k' }
    const response = await server.post(PATH, CHAT, headers)
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, null])
  })

  it('the refusal is in the API’s shape and says what to do', async () => {
    server = await startTestServer({ script: () => [STARTED] })
    const response = await server.post(PATH, CHAT, { origin: 'https://evil.example' })
    expect(await response.json()).toMatchObject({
      error: {
        type: 'permission_error',
        code: 'forbidden',
        message: expect.stringContaining('set a key') as string,
      },
    })
  })
})
