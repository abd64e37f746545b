import assert from 'node:assert/strict'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { TestHome } from '../cli/program.ts'
import { RawClient } from '../http/test-server.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { AT_ONCE, soonest } from '../soonest.ts'
import {
  type Api,
  chatBody,
  type ChatFields,
  ENDLESS,
  HAS_LLAMA,
  openHome,
  processorTime,
  serve,
  type ServedYard,
  sleep,
} from './harness.ts'

/** How often a process is looked at until it does nothing. */
const LOOKS = 5

const PATH = '/v1/chat/completions'

const LEAVING: [how: string, leave: (client: RawClient) => void][] = [
  ['FIN', (client) => client.socket.end()],
  ['RST', (client) => client.socket.resetAndDestroy()],
]

describe.runIf(HAS_LLAMA)('BR-13, H5: a client that leaves, with real weights', () => {
  let home: TestHome
  let served: ServedYard
  let api: Api
  const clients: RawClient[] = []
  beforeAll(async () => {
    home = await openHome()
    // Slow enough that its prompt takes seconds.
    const slow = join(home.path, 'slow.gguf')
    makeTinyModel(slow, {
      dimension: 512,
      layers: 8,
      heads: 8,
      keyValueHeads: 8,
      feedForward: 2048,
      context: 8192,
    })
    await home.configure({
      models: {
        tiny: { file: TINY_CHAT, context: 16_384, slots: 1 },
        slow: { file: slow, context: 8192, slots: 1 },
        late: { engine: 'scripted', isolation: 'worker', loadTime: 60_000 },
      },
    })
    served = await serve(home)
    ;({ api } = served)
    for (const model of ['tiny', 'slow']) {
      const loaded = await api.post('/api/yard/load', JSON.stringify({ model }))
      assert.equal(loaded.status, 200)
    }
  })
  afterEach(() => {
    for (const client of clients.splice(0)) client.socket.destroy()
  })
  afterAll(async () => {
    await served.stop()
    await home.remove()
  })

  function ask(asked: string, fields: ChatFields): RawClient {
    const client = new RawClient(api.port)
    clients.push(client)
    client.post(PATH, chatBody(asked, fields))
    return client
  }

  const free = async (): Promise<number> => await api.until(({ runs }) => runs.active === 0)

  /** R12: nobody works on for the one who left. */
  async function expectIdle(model: string): Promise<void> {
    const { pid = 0 } = (await api.instance(model)) ?? {}
    // The piece of the prompt that was under way may end: 200 ms, on a busy machine longer. All of the prompt takes half a minute.
    let worked = Infinity
    for (let look = 0; look < LOOKS && worked > 100; look++) {
      await sleep(400)
      const before = await processorTime(pid)
      await sleep(400)
      worked = (await processorTime(pid)) - before
    }
    expect(worked).toBeLessThanOrEqual(100)
  }

  describe.each(LEAVING)('by %s', (_how, leave) => {
    it.each([true, false])('while it reads the answer (stream: %s)', async (stream) => {
      const fastest = await soonest(async () => {
        const client = ask('Count.', { model: 'tiny', logit_bias: ENDLESS, stream })
        if (stream) await client.until((text) => text.split('"content"').length > 3)
        else await api.until(({ runs }) => runs.active === 1)
        leave(client)
        return await free()
      })
      expect(fastest).toBeLessThan(AT_ONCE)
      await expectIdle('tiny')
      expect(await api.chat('hi', { model: 'tiny' })).toMatchObject({ text: 'Hello, how are you today?' })
    })

    it('while its prompt is evaluated: the slot is free at once (BR-67)', async () => {
      const fastest = await soonest(async () => {
        const client = ask(`${Math.random()} `.repeat(300), { model: 'slow', stream: true })
        await api.until(({ runs }) => runs.active === 1)
        // Still in the prompt: nothing but the head of the answer, at most, has come.
        await sleep(150)
        expect(client.received).not.toContain('"content":"')
        leave(client)
        return await free()
      })
      expect(fastest).toBeLessThan(AT_ONCE)
      await expectIdle('slow')
    })

    it('while it waits in the queue', async () => {
      const busy = ask('Count.', { model: 'tiny', logit_bias: ENDLESS, stream: true })
      await busy.until((text) => text.includes('"content":"'))
      const fastest = await soonest(async () => {
        const client = ask('hi', { model: 'tiny' })
        await api.until(({ queue }) => queue.length === 1)
        leave(client)
        return await api.until(({ queue }) => queue.length === 0)
      })
      expect(fastest).toBeLessThan(AT_ONCE)
      busy.socket.destroy()
      await free()
      expect((await api.model('tiny')).loads).toBe(1)
    })

    it('while its model is loaded: the load is given up too (R10)', async () => {
      const fastest = await soonest(async () => {
        const client = ask('hi', { model: 'late' })
        await api.until(({ instances }) => instances.some(({ state }) => state === 'loading'))
        leave(client)
        const took = await api.until(({ queue }) => queue.length === 0)
        await api.until(({ instances }) => !instances.some(({ model }) => model === 'late'))
        return took
      })
      expect(fastest).toBeLessThan(AT_ONCE)
    })
  })

  it('fifty that leave at once, at any moment, leave nothing behind (BR-72)', async () => {
    for (let client = 0; client < 50; client++) {
      const one = ask('Count.', { model: 'tiny', logit_bias: ENDLESS, stream: client % 2 === 0 })
      if (client % 3 === 0) setTimeout(() => one.socket.resetAndDestroy(), (client * 7) % 100)
    }
    await sleep(150)
    for (const client of clients) client.socket.resetAndDestroy()
    await api.until(({ runs, queue }) => runs.active === 0 && queue.length === 0)
    expect(await api.chat('hi', { model: 'tiny' })).toMatchObject({ text: 'Hello, how are you today?' })
    expect((await api.model('tiny')).loads).toBe(1)
  })
})

describe('P16: a client that does not read', () => {
  it('holds no slot: the run ends without it, others are served, and it still gets the whole answer', async () => {
    const home = await openHome({
      models: {
        talker: {
          engine: 'scripted',
          slots: 1,
          context: 1_000_000,
          script: [{ match: 'at length', text: 'a word and ', repeat: 40_000 }, { text: 'fine' }],
        },
      },
    })
    const { api, stop } = await serve(home)
    const slow = await api.stream('at length', { model: 'talker' })
    const answers = Promise.all([1, 2, 3].map(() => api.chat('hello', { model: 'talker' })))
    expect((await answers).map(({ text }) => text)).toEqual(['fine', 'fine', 'fine'])
    expect((await api.state()).runs.active).toBe(0)
    expect(slow.received).toBe('')
    await slow.readAll()
    expect(slow.text).toBe('a word and '.repeat(40_000))
    // Far more than what sockets take in for a reader.
    expect(slow.received.length).toBeGreaterThan(15_000_000)
    expect([slow.finishReasons, slow.events.at(-1)]).toEqual([['stop'], '[DONE]'])
    await stop()
    await home.remove()
  })
})
