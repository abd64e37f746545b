import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { YardEvent } from '../../src/events/event-map.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import type { TestHome } from '../cli/program.ts'
import { RawClient } from '../http/test-server.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { Api, chatBody, ENDLESS, FIXED, HAS_LLAMA, openHome, sleep, until, user } from './harness.ts'

/** A question of the fixed ones for each of several clients. */
const questionOf = (client: number): (typeof FIXED)[number] => {
  const question = FIXED[client % FIXED.length]
  if (question === undefined) throw new Error('there are questions')
  return question
}

describe.runIf(HAS_LLAMA)('eight clients at once on one model with four slots', () => {
  let home: TestHome
  let yard: Yard
  let api: Api
  let events: YardEvent[] = []
  beforeAll(async () => {
    home = await openHome()
    yard = await createYard({
      home: home.path,
      models: { tiny: { file: TINY_CHAT, context: 16_384, slots: 4 } },
    })
    yard.subscribe((event) => events.push(event))
    api = new Api((await yard.listen({ port: 0 })).url)
    await yard.loadModel('tiny')
  })
  beforeEach(() => {
    events = []
  })
  afterAll(async () => {
    await yard.stop()
    await home.remove()
  })

  /** The most leases that were held at one time. */
  function mostAtOnce(): number {
    let [held, most] = [0, 0]
    for (const { name } of events) {
      if (name === 'lease-granted') most = Math.max(most, ++held)
      if (name === 'lease-released') held--
    }
    expect(held).toBe(0)
    return most
  }

  /** Answers of milliseconds need not all meet; that four do when they last is shown below. */
  function expectSeveralAtOnce(): void {
    const most = mostAtOnce()
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(4)
  }

  it('are all answered, each with its own right text, at most four at a time', async () => {
    const clients = Array.from({ length: 8 }, (_, client) => questionOf(client))
    const answers = await Promise.all(clients.map(({ messages }) => api.chat(messages, { model: 'tiny' })))
    expect(answers.map(({ text }) => text)).toEqual(clients.map(({ answer }) => answer))
    expect(answers.every(({ status, finish }) => status === 200 && finish === 'stop')).toBe(true)
    expectSeveralAtOnce()
    const slots = events.flatMap((event) => (event.name === 'lease-granted' ? event.data.slot : []))
    expect(slots.every((slot) => slot >= 0 && slot < 4)).toBe(true)
  })

  it('and so are their streams, whose pieces do not get mixed up', async () => {
    const clients = Array.from({ length: 8 }, (_, client) => questionOf(client))
    const streams = await Promise.all(
      clients.map(async ({ messages }) => await (await api.stream(messages, { model: 'tiny' })).readAll()),
    )
    expect(streams.map(({ text }) => text)).toEqual(clients.map(({ answer }) => answer))
    for (const { finishReasons, events: sent } of streams) {
      expect([finishReasons, sent.at(-1)]).toEqual([['stop'], '[DONE]'])
    }
    expectSeveralAtOnce()
  })

  it('are granted in order of arrival (R2, F12)', async () => {
    // All four slots speak for ever, so that the order in which the eight arrive is known.
    const blockers = Array.from({ length: 4 }, () => new AbortController())
    const blocking = blockers.map(async ({ signal }) =>
      yard.chat({ model: 'tiny', messages: [user('Count.')], logitBias: ENDLESS, signal }).answer(),
    )
    await until(() => yard.state().runs.active === 4)
    const answers: ReturnType<Api['chat']>[] = []
    for (let client = 0; client < 8; client++) {
      answers.push(api.chat(questionOf(client).messages, { model: 'tiny' }))
      await until(() => yard.state().queue.length === client + 1)
    }
    const arrived = yard.state().queue.map(({ id }) => id)
    const waiting: string[][] = []
    const unsubscribe = yard.subscribe(({ name }) => {
      if (name === 'lease-granted') waiting.push(yard.state().queue.map(({ id }) => id))
    })
    for (const blocker of blockers) {
      const before = waiting.length
      blocker.abort()
      await until(() => waiting.length > before)
    }
    const texts = (await Promise.all(answers)).map(({ text }) => text)
    unsubscribe()
    expect(texts).toEqual(Array.from({ length: 8 }, (_, client) => questionOf(client).answer))
    expect(waiting).toHaveLength(8)
    // After each grant exactly those wait that arrived after the one who was served.
    for (const left of waiting) expect(left).toEqual(arrived.slice(8 - left.length))
    expect(waiting.at(-1)).toEqual([])
    for (const { result } of await Promise.all(blocking)) expect(result.finishReason).toBe('abort')
  })

  it('begin at once, however long the others before them go on (R9, P5)', async () => {
    // Two answers that take turns in the engine leave it no idle moment: those who come later still get theirs.
    for (let round = 0; round < 5; round++) {
      const leave = new AbortController()
      const begun: number[] = []
      const answering = FIXED.map(async ({ messages }, client) => {
        await sleep(client * 10)
        const stream = yard.chat({
          model: 'tiny',
          messages: messages as never,
          logitBias: ENDLESS,
          signal: leave.signal,
        })
        for await (const part of stream) if (part.type === 'text') begun[client] = (begun[client] ?? 0) + 1
      })
      await until(() => [0, 1, 2, 3].every((client) => (begun[client] ?? 0) > 5), 10_000)
      leave.abort()
      await Promise.all(answering)
    }
    expect(yard.state().runs.active).toBe(0)
  })

  it('BR-27: two hundred chats in a row, every fifth one left in the middle, and every slot is there again', async () => {
    const texts: string[] = []
    for (let turn = 0; turn < 200; turn++) {
      const { messages, answer } = questionOf(turn)
      const stream = yard.chat({ model: 'tiny', messages: messages as never, temperature: 0 })
      if (turn % 5 === 0) for await (const part of stream) if (part.type === 'text') break
      texts.push(turn % 5 === 0 ? answer : await stream.text())
    }
    expect(texts).toEqual(Array.from({ length: 200 }, (_, turn) => questionOf(turn).answer))
    await until(() => yard.state().runs.active === 0)
    expect(yard.state().instances).toMatchObject([{ id: 'tiny#1', leases: 0, state: 'ready' }])
    const all = await Promise.all([1, 2, 3, 4].map(() => yard.pool.acquire({ model: 'tiny' })))
    expect(new Set(all.map(({ slot }) => slot)).size).toBe(4)
    for (const lease of all) lease.release()
  })
})

describe.runIf(HAS_LLAMA)('BR-16: a storm of first requests on a model that is not in memory', () => {
  let home: TestHome
  let yard: Yard
  let api: Api
  let loads: string[] = []
  beforeAll(async () => {
    home = await openHome()
    yard = await createYard({
      home: home.path,
      models: { tiny: { file: TINY_CHAT, context: 512, slots: 4 } },
    })
    yard.subscribe((event) => {
      if (event.name === 'load-started') loads.push(event.data.instance)
    })
    api = new Api((await yard.listen({ port: 0 })).url)
  })
  beforeEach(async () => {
    await yard.unloadModel('tiny')
    loads = []
  })
  afterAll(async () => {
    await yard.stop()
    await home.remove()
  })

  it('twenty at once are all answered after one load', async () => {
    const clients = Array.from({ length: 20 }, (_, client) => questionOf(client))
    const answers = await Promise.all(clients.map(({ messages }) => api.chat(messages, { model: 'tiny' })))
    expect(answers.map(({ text }) => text)).toEqual(clients.map(({ answer }) => answer))
    expect(loads).toHaveLength(1)
    for (const { headers } of answers) expect(Number(headers.get('modelyard-load-ms'))).toBeGreaterThan(0)
  })

  it('those who leave during the load do not cancel it for the others', async () => {
    const leavers = Array.from({ length: 6 }, () => new RawClient(api.port))
    const stayers = Array.from({ length: 14 }, (_, client) => questionOf(client))
    for (const leaver of leavers.slice(0, 3))
      leaver.post('/v1/chat/completions', chatBody('hi', { model: 'tiny' }))
    await until(() => yard.state().queue.length === 3)
    const answers = Promise.all(stayers.map(({ messages }) => api.chat(messages, { model: 'tiny' })))
    for (const leaver of leavers.slice(3))
      leaver.post('/v1/chat/completions', chatBody('hi', { model: 'tiny' }))
    await until(() => yard.state().queue.length === 20)
    expect(yard.state().instances).toMatchObject([{ state: 'loading' }])
    for (const leaver of leavers) leaver.socket.resetAndDestroy()
    await until(() => yard.state().queue.length === 14)
    expect((await answers).map(({ text }) => text)).toEqual(stayers.map(({ answer }) => answer))
    expect(loads).toHaveLength(1)
  })

  it('when all leave, the load is given up and its worker ends (R10)', async () => {
    const leavers = Array.from({ length: 5 }, () => new RawClient(api.port))
    for (const leaver of leavers) leaver.post('/v1/chat/completions', chatBody('hi', { model: 'tiny' }))
    await until(() => yard.state().queue.length === 5)
    for (const leaver of leavers) leaver.socket.destroy()
    await until(() => yard.state().instances.length === 0)
    expect(yard.state()).toMatchObject({ queue: [], runs: { active: 0 }, memory: { ram: { booked: 0 } } })
    expect(await api.chat('hi', { model: 'tiny' })).toMatchObject({ text: 'Hello, how are you today?' })
    expect(loads).toHaveLength(2)
  })
})
