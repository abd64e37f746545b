import { afterEach, describe, expect, it } from 'vitest'
import type { Part } from '../../src/tasks/part.ts'
import { AT_ONCE, soonest } from '../soonest.ts'
import { gate, STARTED, type Script } from './scripted-port.ts'
import { CHAT, eventually, RawClient, startTestServer, type TestServer } from './test-server.ts'

const PATH = '/v1/chat/completions'
const TEXT: Part = { type: 'text', text: 'word ' }
const NEVER = { wait: new Promise<never>(() => undefined) }

let server: TestServer
afterEach(() => server.close())

const slowTokens: Script = async function* () {
  yield STARTED
  for (;;) {
    yield TEXT
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const STAGES: [stage: string, script: Script, stream: boolean, seen: string][] = [
  ['in the queue, stream', () => [NEVER], true, ''],
  ['in the queue, one piece', () => [NEVER], false, ''],
  ['between prefill and first token', () => [STARTED, NEVER], true, 'assistant'],
  ['after three chunks', slowTokens, true, 'word '],
  ['while an answer in one piece is made', slowTokens, false, ''],
]

const LEAVING: [how: string, leave: (client: RawClient) => void][] = [
  ['FIN', (client) => client.socket.end()],
  ['close', (client) => client.socket.destroy()],
  ['reset', (client) => client.socket.resetAndDestroy()],
]

describe('BR-13, H5: a client that leaves ends its run', () => {
  for (const [stage, script, stream, seen] of STAGES) {
    it.each(LEAVING)(`${stage}, by %s`, async (_how, leave) => {
      server = await startTestServer({ script })
      const took = await soonest(async () => {
        const client = new RawClient(server.port)
        client.post(PATH, JSON.stringify({ ...CHAT, stream }))
        await eventually(() => server.yard.active === 1)
        await client.until((text) => text.includes(seen))
        const logged = server.log.length
        leave(client)
        const left = await eventually(() => server.yard.active === 0)
        // By its signal while it waits, by `return()` between two parts.
        expect(['aborted', 'returned']).toContain(server.yard.outcomes.at(-1))
        await eventually(() => server.log.length === logged + 1)
        expect(server.log.at(-1)?.status).toBe(499)
        client.socket.destroy()
        return left
      })
      expect(took).toBeLessThan(AT_ONCE)
      server.yard.script = () => [STARTED, TEXT]
      expect((await server.post(PATH, CHAT)).status).toBe(200)
    })
  }

  it('an upload that breaks off starts nothing and harms nobody', async () => {
    server = await startTestServer()
    const client = new RawClient(server.port)
    client.send(
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"mod`,
    )
    await new Promise((resolve) => setTimeout(resolve, 50))
    client.socket.resetAndDestroy()
    await eventually(() => server.log.length === 1)
    expect([server.log[0]?.status, server.yard.requests.length]).toEqual([499, 0])
    expect((await server.post(PATH, CHAT)).status).toBe(200)
  })

  it('fifty that leave at once leave nothing behind (BR-72)', async () => {
    server = await startTestServer({ script: slowTokens })
    const clients = Array.from({ length: 50 }, () => new RawClient(server.port))
    for (const client of clients) client.post(PATH, JSON.stringify({ ...CHAT, stream: true }))
    await eventually(() => server.yard.active === 50)
    for (const client of clients) client.socket.resetAndDestroy()
    await eventually(() => server.yard.active === 0)
    expect(server.yard.outcomes).toEqual(Array.from({ length: 50 }, () => 'returned'))
  })

  it('one that stays is not harmed by one that leaves', async () => {
    const { open, wait } = gate()
    server = await startTestServer({ script: () => [STARTED, TEXT, { wait }, TEXT] })
    const leaver = new RawClient(server.port)
    leaver.post(PATH, JSON.stringify(CHAT))
    const stayer = server.post(PATH, CHAT)
    await eventually(() => server.yard.active === 2)
    leaver.socket.destroy()
    await eventually(() => server.yard.outcomes.length === 1)
    open()
    expect((await stayer).status).toBe(200)
    expect(server.yard.outcomes).toEqual(['aborted', 'finished'])
  })
})
