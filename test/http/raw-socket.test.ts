import { afterEach, describe, expect, it } from 'vitest'
import { STARTED } from './scripted-port.ts'
import { CHAT, eventually, RawClient, startTestServer, type TestServer } from './test-server.ts'

const PATH = '/v1/chat/completions'
const BODY = JSON.stringify(CHAT)

let server: TestServer
let client: RawClient
afterEach(async () => {
  client.socket.destroy()
  await server.close()
})

async function open(options: Parameters<typeof startTestServer>[0] = {}): Promise<void> {
  server = await startTestServer(options)
  client = new RawClient(server.port)
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

describe('bytes that are no HTTP', () => {
  it.each([
    ['random bytes', '\u0001\u0002\u0003\u00ff\r\n\r\n'],
    ['a TLS hello', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000'],
    ['a broken request line', 'POST\r\n\r\n'],
    ['a header without colon', 'GET / HTTP/1.1\r\nHost: x\r\nno colon here\r\n\r\n'],
    [
      'two content lengths',
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    ],
    [
      'length and chunks',
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
    ],
    ['a content length of letters', `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n{}`],
    ['a negative content length', `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}`],
    ['HTTP/1.1 without Host', 'GET /v1/models HTTP/1.1\r\n\r\n'],
  ])('%s get a 400 and the server lives', async (_what, bytes) => {
    await open()
    client.send(Buffer.from(bytes, 'latin1'))
    expect(await client.until((text) => text.includes('\r\n\r\n'))).toMatch(/^HTTP\/1.1 400 /)
    expect((await server.post(PATH, CHAT)).status).toBe(200)
  })

  it('headers of 100 kB are a 431', async () => {
    await open()
    client.send(`GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(100_000)}\r\n\r\n`)
    expect(await client.until((text) => text.includes('\r\n\r\n'))).toMatch(/^HTTP\/1.1 431 .*{"error":/s)
  })

  it('bytes after a request do not get into the stream of its answer, and end its run', async () => {
    await open({
      script: () => [STARTED, { type: 'text', text: 'one' }, { wait: new Promise(() => undefined) }],
    })
    client.post(PATH, JSON.stringify({ ...CHAT, stream: true }))
    await client.until((text) => text.includes('one'))
    client.send('\u0001\u0002 no HTTP\r\n\r\n')
    await eventually(() => client.closed && server.yard.active === 0)
    expect(client.received.match(/HTTP\/1.1/g)).toHaveLength(1)
    expect(client.received).not.toContain('400 Bad Request')
  })

  it('a broken chunk inside an upload does no harm', async () => {
    await open()
    client.send(
      `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
    )
    await client.until((text) => text.includes('400'))
    expect((await server.post(PATH, CHAT)).status).toBe(200)
  })
})

describe('odd but valid HTTP', () => {
  it('HTTP/1.0 without Host is answered and closed', async () => {
    await open()
    client.send('GET /v1/models HTTP/1.0\r\n\r\n')
    await eventually(() => client.closed)
    expect(client.received).toMatch(/^HTTP\/1.1 200 .*"object":"list"/s)
  })

  it('HTTP/1.0 gets a stream without chunks', async () => {
    await open()
    const body = JSON.stringify({ ...CHAT, stream: true })
    client.send(
      `POST ${PATH} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    await eventually(() => client.closed)
    expect(client.received).toMatch(/\r\n\r\ndata: .*\[DONE\]\n\n$/s)
  })

  it('an absolute URL in the request line is taken', async () => {
    await open()
    client.send('GET http://127.0.0.1/v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    expect(await client.until((text) => text.includes('"list"'))).toContain('200 OK')
  })

  it('a chunked body, one byte each, is put together', async () => {
    await open()
    const chunks = [...Buffer.from(BODY)].map((byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('')
    client.send(
      `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
    )
    expect(await client.until((text) => text.includes('}}'))).toContain('200 OK')
  })

  it('Expect: 100-continue is answered first', async () => {
    await open()
    client.send(
      `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\nExpect: 100-continue\r\n\r\n`,
    )
    await client.until((text) => text.startsWith('HTTP/1.1 100 Continue'))
    client.send(BODY)
    expect(await client.until((text) => text.includes('200 OK'))).toContain('200 OK')
  })

  it('two requests in one packet get two answers in order', async () => {
    await open()
    client.send(
      'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
    )
    await client.until((text) => text.includes('"list"'))
    expect(client.received.match(/200 OK/g)).toHaveLength(2)
    expect(client.received.indexOf('"status":"ok"')).toBeLessThan(client.received.indexOf('"list"'))
  })

  it('a UTF-8 character split over packets stays whole', async () => {
    let seen: unknown
    await open({
      script: ({ task }) => {
        seen = task
        return [STARTED]
      },
    })
    const bytes = Buffer.from(JSON.stringify({ ...CHAT, messages: [{ role: 'user', content: 'é😸' }] }))
    client.send(
      `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${bytes.length}\r\n\r\n`,
    )
    for (const byte of bytes) {
      client.send(Buffer.from([byte]))
      if (byte > 127) await pause(2)
    }
    await client.until((text) => text.includes('200 OK'))
    expect(seen).toMatchObject({ messages: [{ content: 'é😸' }] })
  })

  it('a connection that only opens and closes is nothing', async () => {
    await open()
    client.socket.end()
    await eventually(() => client.closed)
    expect(server.log).toEqual([])
  })
})

describe('BR-14: time limits', () => {
  it('a pooled connection is kept far longer than clients keep theirs, and says so', async () => {
    await open()
    client.send('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    const seconds = /keep-alive: timeout=(\d+)/i.exec(await client.until((text) => text.includes('ok"')))?.[1]
    expect(Number(seconds)).toBeGreaterThan(15)
  })

  it('a connection idle for 6 s takes a POST (Node closes after 5 s by default)', async () => {
    await open()
    client.send('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    await client.until((text) => text.includes('ok"'))
    await pause(6200)
    client.received = ''
    client.post(PATH, BODY)
    expect(await client.until((text) => text.includes('}}'))).toContain('200 OK')
  })

  it('a slow upload is allowed as long as bytes come', async () => {
    // All of it takes longer than any silence may, and no silence nearly as long, on a busy machine either.
    await open({ limits: { bodyIdle: 2000 } })
    client.send(
      `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n`,
    )
    for (let at = 0; at < BODY.length; at += 10) {
      client.send(BODY.slice(at, at + 10))
      await pause(350)
    }
    expect(await client.until((text) => text.includes('}}'))).toContain('200 OK')
  })

  it('an upload that stalls is a clean 408', async () => {
    await open({ limits: { bodyIdle: 60 } })
    client.send(
      `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"model":`,
    )
    const answer = await client.until((text) => text.includes('}}'))
    expect(answer).toMatch(/^HTTP\/1.1 408 .*"type":"invalid_request_error"/s)
  })
})

describe('closing', () => {
  it('lets an answer end, refuses new connections and closes idle ones', async () => {
    await open({ script: () => [{ wait: pause(200) }, STARTED, { type: 'text', text: 'late' }] })
    const idle = new RawClient(server.port)
    idle.send('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    await idle.until((text) => text.includes('ok"'))
    client.post(PATH, BODY)
    await eventually(() => server.yard.active === 1)
    const unused = new RawClient(server.port)
    await eventually(() => !unused.socket.connecting)
    await pause(20)
    const closed = server.server.close({ drain: 60_000 })
    await eventually(() => idle.closed && unused.closed)
    expect(await client.until((text) => text.includes('}}'))).toContain('"content":"late"')
    await closed
    await expect(server.post(PATH, CHAT)).rejects.toThrow('fetch failed')
  })

  it('cuts what lasts longer than the drain, and its run ends', async () => {
    await open({ script: () => [STARTED, { wait: new Promise(() => undefined) }] })
    client.post(PATH, BODY)
    await eventually(() => server.yard.active === 1)
    await server.server.close({ drain: 50 })
    await eventually(() => server.yard.active === 0)
    expect(server.yard.outcomes).toEqual(['aborted'])
  })

  it('twice is harmless, and it can listen again', async () => {
    await open()
    await Promise.all([server.server.close(), server.server.close()])
    const { port } = await server.server.listen({ host: '127.0.0.1', port: 0 })
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).headers.get('connection')).toBe('keep-alive')
  })
})
