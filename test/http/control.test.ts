import { createParser } from 'eventsource-parser'
import { afterEach, describe, expect, it } from 'vitest'
import { heldMemory } from '../held-memory.ts'
import { AT_ONCE, soonest } from '../soonest.ts'
import { CHAT, eventually, RawClient, startTestServer, type TestServer } from './test-server.ts'

let server: TestServer
afterEach(() => server.close())

interface Seen {
  id: string | undefined
  event: string | undefined
  data: Record<string, unknown>
}

/** Collects events of `/api/yard/events` until the controller is aborted. */
async function watch(
  headers: Record<string, string> = {},
): Promise<{ seen: Seen[]; stop: () => void; ended: Promise<void> }> {
  const controller = new AbortController()
  const response = await fetch(`${server.url}/api/yard/events`, { headers, signal: controller.signal })
  const seen: Seen[] = []
  const parser = createParser({
    onEvent: ({ id, event, data }) =>
      seen.push({ id, event, data: JSON.parse(data) as Record<string, unknown> }),
  })
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? [])
      parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }))
  }
  const ended = read().catch(() => undefined)
  return { seen, stop: () => controller.abort(), ended }
}

function warn(code: string): void {
  server.events.emit('warning-raised', { code, message: 'x' })
}

describe('events', () => {
  it('come with their ids and names as they happen', async () => {
    server = await startTestServer()
    warn('before')
    const { seen, stop } = await watch()
    warn('one')
    warn('two')
    await eventually(() => seen.length === 2)
    expect(seen).toEqual([
      {
        id: '2',
        event: 'warning-raised',
        data: expect.objectContaining({
          id: 2,
          name: 'warning-raised',
          data: { code: 'one', message: 'x' },
        }) as unknown,
      },
      { id: '3', event: 'warning-raised', data: expect.objectContaining({ id: 3 }) as unknown },
    ])
    stop()
  })

  it('resume after the last one seen', async () => {
    server = await startTestServer()
    for (const code of ['a', 'b', 'c']) warn(code)
    const { seen, stop } = await watch({ 'last-event-id': '1' })
    await eventually(() => seen.length === 2)
    expect(seen.map(({ id }) => id)).toEqual(['2', '3'])
    stop()
  })

  it('tell a watcher who comes back too late how many it missed', async () => {
    server = await startTestServer()
    for (let index = 0; index < 1500; index++) warn('x')
    const { seen, stop } = await watch({ 'last-event-id': '10' })
    await eventually(() => seen.length === 1025)
    expect(seen[0]).toMatchObject({ event: 'events-skipped', data: { count: 466 } })
    expect([seen[1]?.id, seen.at(-1)?.id]).toEqual(['477', '1500'])
    stop()
  })

  it('start again for a watcher from before a restart', async () => {
    server = await startTestServer()
    warn('a')
    const { seen, stop } = await watch({ 'last-event-id': '900' })
    await eventually(() => seen.length === 1)
    warn('b')
    await eventually(() => seen.length === 2)
    expect(seen.map(({ id }) => id)).toEqual(['1', '2'])
    stop()
  })

  it('BR-45: watchers that stop reading cost nothing and are told what they missed', async () => {
    server = await startTestServer()
    const clients = Array.from({ length: 5 }, () => new RawClient(server.port))
    for (const client of clients) client.send('GET /api/yard/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    for (const client of clients) await client.until((text) => text.includes(': alive'))
    for (const client of clients) client.socket.pause()
    const message = 'x'.repeat(1000)
    const before = heldMemory()
    for (let round = 0; round < 200; round++) {
      for (let index = 0; index < 100; index++)
        server.events.emit('warning-raised', { code: String(round), message })
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    const answered = await soonest(async () => {
      const started = performance.now()
      expect((await server.post('/v1/chat/completions', CHAT)).status).toBe(200)
      return performance.now() - started
    })
    expect(answered).toBeLessThan(AT_ONCE)
    // 20 MB × 5 watchers would be 100 MB.
    expect(heldMemory() - before).toBeLessThan(60 * 1024 ** 2)
    for (const client of clients) client.socket.resume()
    for (const client of clients) {
      await client.until((text) => text.includes('"id":20000,'))
      expect(client.received).toContain('event: events-skipped')
      client.socket.destroy()
    }
  })

  it('end when the server closes, and do not hold it up', async () => {
    server = await startTestServer()
    const { ended } = await watch()
    const started = performance.now()
    await server.server.close({ drain: 60_000 })
    await ended
    expect(performance.now() - started).toBeLessThan(20_000)
  })
})

describe('the control API', () => {
  it('loads and unloads', async () => {
    server = await startTestServer()
    const loaded = await server.post('/api/yard/load', { model: 'model-a', keep_alive: '10m' })
    expect([loaded.status, await loaded.json()]).toEqual([200, { model: 'model-a', loaded: true }])
    const unloaded = await server.post('/api/yard/unload', { model: 'model-a' })
    expect([unloaded.status, await unloaded.json()]).toEqual([200, { model: 'model-a', loaded: false }])
    expect([server.yard.loads, server.yard.unloads]).toEqual([
      [{ model: 'model-a', keepAlive: 600_000 }],
      ['model-a'],
    ])
  })

  it.each([
    [{}, 'model'],
    [{ model: 5 }, 'model'],
    [{ model: 'model-a', keep_alive: 'abc' }, 'keep_alive'],
    [[], 'body'],
  ])('refuses %j with the field', async (body, param) => {
    server = await startTestServer()
    const response = await server.post('/api/yard/load', body)
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_request', details: { param } } },
    ])
  })

  it('shows the state and says that it lives', async () => {
    server = await startTestServer()
    expect(await (await fetch(`${server.url}/api/yard/state`)).json()).toEqual({ models: ['model-a'] })
    expect(await (await fetch(`${server.url}/healthz`)).json()).toEqual({ status: 'ok', ready: true })
  })

  it('alive is not ready', async () => {
    server = await startTestServer({ health: () => ({ ready: false, reason: 'stopping' }) })
    const [alive, ready] = [await fetch(`${server.url}/healthz`), await fetch(`${server.url}/readyz`)]
    expect([alive.status, await alive.json(), ready.status]).toEqual([
      200,
      { status: 'ok', ready: false, reason: 'stopping' },
      503,
    ])
  })

  it('F10: state, events and log hold no word of a user', async () => {
    server = await startTestServer()
    const { seen, stop } = await watch()
    const messages = [{ role: 'user', content: 'my-secret-text' }]
    await server.post('/v1/chat/completions?q=my-secret-text', { ...CHAT, messages })
    await eventually(() => server.log.some(({ method }) => method === 'POST'))
    const state = await (await fetch(`${server.url}/api/yard/state`)).text()
    expect(JSON.stringify([server.log, state, seen])).not.toContain('my-secret-text')
    stop()
  })
})
