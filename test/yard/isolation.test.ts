import { describe, expect, it } from 'vitest'
import { TINY_CHAT } from '../models/paths.ts'
import {
  copyOfTinyChat,
  descendants,
  ENDLESS,
  FIXED,
  HAS_LLAMA,
  openHome,
  serve,
  type ChatStream,
} from './harness.ts'

/** How often each other model comes, goes or fails. */
const ROUNDS = 4

describe.runIf(HAS_LLAMA)('while other models load, unload, fail and crash (BR-71)', () => {
  it('nothing of a model that answers fails: its streams are whole, its texts right, its worker the same', async () => {
    const home = await openHome()
    await home.configure({
      models: {
        a: { file: TINY_CHAT, context: 16_384, slots: 4 },
        b: { file: await copyOfTinyChat(home, 'b'), context: 4096, slots: 4 },
        broken: {
          engine: 'scripted',
          isolation: 'worker',
          failLoad: { class: 'bad_file', message: 'no model' },
        },
        dies: { engine: 'scripted', isolation: 'worker', script: [{ exitAt: 'prefill', text: 'never' }] },
      },
    })
    const served = await serve(home)
    const { api } = served
    await api.post('/api/yard/load', JSON.stringify({ model: 'a' }))
    const before = await api.instance('a')
    const long: Promise<ChatStream>[] = [1, 2].map(async () =>
      (await api.stream('Count.', { model: 'a', logit_bias: ENDLESS, max_tokens: 3000 })).readAll(),
    )
    const disturbed = new AbortController()
    const right = (async (): Promise<number> => {
      let count = 0
      for (; !disturbed.signal.aborted; count++) {
        for (const { messages, answer } of FIXED)
          expect(await api.chat(messages, { model: 'a' })).toMatchObject({ status: 200, text: answer })
      }
      return count
    })()
    const others: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      others.push((await api.post('/api/yard/load', JSON.stringify({ model: 'b' }))).status)
      for (const model of ['broken', 'dies'])
        others.push((await api.chat(`round ${round}`, { model })).status)
      others.push((await api.post('/api/yard/unload', JSON.stringify({ model: 'b' }))).status)
    }
    disturbed.abort()
    expect(await right).toBeGreaterThan(0)
    expect(others.filter((status) => status === 200)).toHaveLength(2 * ROUNDS)
    expect(others.filter((status) => status >= 500)).toHaveLength(2 * ROUNDS)
    for (const stream of await Promise.all(long)) {
      expect(stream.finishReasons).toEqual(['length'])
      expect([stream.errors, stream.events.at(-1)]).toEqual([[], '[DONE]'])
    }
    expect(await api.instance('a')).toMatchObject({ id: before?.id, pid: before?.pid, state: 'ready' })
    expect((await api.model('a')).loads).toBe(1)
    await served.stop()
  })
})

describe.runIf(HAS_LLAMA)('E7: an engine that runs inside a process', () => {
  it('has a supervised child of its own by default, whose end ends nothing else, and the server’s own process on request', async () => {
    const home = await openHome()
    const small = { context: 512, slots: 1, keepAlive: -1 }
    await home.configure({
      models: {
        apart: { file: TINY_CHAT, ...small },
        inside: { file: await copyOfTinyChat(home, 'inside'), ...small, isolation: 'none' },
      },
    })
    const { api, program, stop } = await serve(home)
    const hello = { status: 200, text: 'Hello, how are you today?' }
    expect(await api.chat('hi', { model: 'inside' })).toMatchObject(hello)
    expect(descendants(program.pid)).toEqual([])
    expect(await api.chat('hi', { model: 'apart' })).toMatchObject(hello)
    const children = descendants(program.pid)
    expect(children).toEqual([(await api.instance('apart'))?.pid])
    for (const child of children) process.kill(child, 'SIGKILL')
    await api.until(({ instances }) => instances.every(({ model }) => model !== 'apart'))
    for (const model of ['inside', 'apart']) expect(await api.chat('hi', { model })).toMatchObject(hello)
    expect((await api.model('inside')).loads).toBe(1)
    await stop()
  })
})
