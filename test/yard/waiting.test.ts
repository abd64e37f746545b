import { beforeEach, describe, expect, it } from 'vitest'
import type { YardEvent } from '../../src/events/event-map.ts'
import type { Yard } from '../../src/yard.ts'
import { AT_ONCE, soonest } from '../soonest.ts'
import { ownYards, TALKER, until, user } from './harness.ts'

const { open } = ownYards()

describe('P13: time limits and signals', () => {
  let yard: Yard
  beforeEach(async () => {
    yard = await open({
      models: {
        talker: { ...TALKER, capabilities: { tasks: ['chat', 'completion'] } },
        vectors: { engine: 'scripted', script: [{ match: 'slow', prefill: 60_000, text: '' }] },
        late: { engine: 'scripted', loadTime: 60_000 },
      },
    })
  })

  it('a text call ends with what came until its time was up', async () => {
    await yard.loadModel('talker')
    const ask = { model: 'talker', messages: [user('for ever')], timeout: '2s' }
    const { text, result } = await yard.chat(ask).answer()
    expect(result.finishReason).toBe('timeout')
    expect(text).toMatch(/^(tick )+$/)
    expect(result.usage).toMatchObject({ completionTokens: text.length / 5 })
    expect(yard.state().runs.active).toBe(0)
  })

  it('a text call ends with what came until its signal fired', async () => {
    const controller = new AbortController()
    const stream = yard.complete({ model: 'talker', prompt: 'for ever', signal: controller.signal })
    let pieces = 0
    for await (const part of stream) if (part.type === 'text' && ++pieces === 3) controller.abort()
    expect(stream.result?.finishReason).toBe('abort')
    expect(pieces).toBe(3)
    expect(yard.state().runs.active).toBe(0)
  })

  it('a signal that has fired before starts nothing', async () => {
    const { text, result } = await yard
      .chat({ model: 'talker', messages: [user('hi')], signal: AbortSignal.abort() })
      .answer()
    expect([text, result.finishReason]).toEqual(['', 'abort'])
    expect(yard.state().instances).toEqual([])
  })

  it('a call whose time is up while its model loads leaves no load behind (R10)', async () => {
    const { text, result } = await yard.chat({ model: 'late', messages: [user('hi')], timeout: 0.2 }).answer()
    expect([text, result.finishReason]).toEqual(['', 'timeout'])
    await until(() => yard.state().instances.length === 0)
    expect(yard.state()).toMatchObject({ queue: [], runs: { active: 0 } })
  })

  it('embed rejects', async () => {
    const call = { model: 'vectors', input: 'slow' }
    await expect(yard.embed({ ...call, timeout: '200ms' })).rejects.toMatchObject({ code: 'timeout' })
    await expect(yard.embed({ ...call, signal: AbortSignal.timeout(200) })).rejects.toMatchObject({
      code: 'aborted',
    })
    expect(yard.state().runs.active).toBe(0)
  })

  it('acquire: an abort or a time limit while waiting leaves no ticket', async () => {
    await yard.loadModel('talker')
    const leases = await Promise.all([1, 2, 3, 4].map(() => yard.pool.acquire({ model: 'talker' })))
    await expect(yard.pool.acquire({ model: 'talker', timeout: 100 })).rejects.toMatchObject({
      code: 'timeout',
    })
    const aborted = yard.pool.acquire({ model: 'talker', signal: AbortSignal.timeout(50) })
    await expect(aborted).rejects.toMatchObject({ code: 'aborted' })
    expect(yard.state()).toMatchObject({ queue: [], runs: { active: 4 } })
    for (const lease of leases) lease.release()
    expect(yard.state().runs.active).toBe(0)
  })

  it('a reader that leaves its loop gives the slot back', async () => {
    const took = await soonest(async () => {
      for await (const part of yard.chat({ model: 'talker', messages: [user('for ever')] })) {
        if (part.type === 'text') break
      }
      return await until(() => yard.state().runs.active === 0)
    })
    expect(took).toBeLessThan(AT_ONCE)
  })
})

describe('who is served when', () => {
  it('acquire makes the model known by itself: no call has to come before it', async () => {
    const yard = await open({ models: { talker: { ...TALKER, aliases: 'other' } } })
    expect(yard.pool.tryAcquire({ model: 'talker' })).toBeUndefined()
    await using lease = await yard.pool.acquire({ model: 'other' })
    expect(lease).toMatchObject({ model: 'talker', instance: 'talker#1', slot: 0 })
    expect(yard.pool.tryAcquire({ model: 'other' })).toMatchObject({ instance: 'talker#1', slot: 1 })
    expect(yard.pool.status()).toMatchObject({ runs: { active: 2 } })
    await expect(yard.pool.acquire({ model: 'nobody' })).rejects.toMatchObject({ code: 'model_not_found' })
  })

  it('interactive before normal before background, in order of arrival within each', async () => {
    const yard = await open({ models: { talker: { ...TALKER, slots: 1 } } })
    await yard.loadModel('talker')
    const first = await yard.pool.acquire({ model: 'talker' })
    const order: string[] = []
    const wants = ['background', 'normal', 'interactive', 'background', 'interactive', 'normal'] as const
    const served = wants.map(async (priority, index) => {
      await using lease = await yard.pool.acquire({ model: 'talker', priority })
      order.push(`${priority} ${index}`)
      expect(lease.slot).toBe(0)
    })
    await until(() => yard.state().queue.length === 6)
    first.release()
    await Promise.all(served)
    expect(order).toEqual([
      'interactive 2',
      'interactive 4',
      'normal 1',
      'normal 5',
      'background 0',
      'background 3',
    ])
  })

  it('P4: never more runs at once than limits.concurrency, over all models', async () => {
    const model = { engine: 'scripted', script: [{ text: ['a', 'b'], delay: 15 }] } as const
    const yard = await open({ models: { one: model, two: model }, limits: { concurrency: 3 } })
    let [active, most] = [0, 0]
    yard.subscribe(({ name }) => {
      if (name === 'lease-granted') most = Math.max(most, ++active)
      if (name === 'lease-released') active--
    })
    const calls = Array.from({ length: 24 }, (_, index) =>
      yard.chat({ model: index % 2 === 0 ? 'one' : 'two', messages: [user('hi')] }).text(),
    )
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['ab']))
    expect([active, most]).toEqual([0, 3])
  })

  it('P4: a queue that is full refuses with the numbers', async () => {
    const yard = await open({ models: { talker: { ...TALKER, slots: 1 } }, limits: { queuePerModel: 2 } })
    await yard.loadModel('talker')
    const first = await yard.pool.acquire({ model: 'talker' })
    const waiting = [1, 2].map(() => yard.pool.acquire({ model: 'talker' }))
    await until(() => yard.state().queue.length === 2)
    await expect(yard.pool.acquire({ model: 'talker' })).rejects.toMatchObject({
      code: 'queue_full',
      details: { queued: 2, limit: 2 },
    })
    first.release()
    for (const lease of waiting) (await lease).release()
  })
})

describe('keepAlive', () => {
  async function ask(yard: Yard, model: string, keepAlive?: number | string): Promise<void> {
    const more = keepAlive === undefined ? {} : { keepAlive }
    expect(await yard.chat({ model, messages: [user('hi')], ...more }).text()).toBe('Hello')
  }

  it('0 unloads at release, −1 never, and the last request’s own word counts', async () => {
    const yard = await open({
      models: {
        fleeting: { ...TALKER, keepAlive: 0 },
        lasting: { ...TALKER, keepAlive: -1 },
        usual: { ...TALKER, keepAlive: '10m' },
      },
    })
    const events: YardEvent[] = []
    yard.subscribe((event) => events.push(event))
    const unloaded = (): string[] =>
      events.flatMap((event) => (event.name === 'unload-started' ? event.data.model : []))
    const expiry = (model: string): number | null | undefined =>
      yard.state().instances.find((instance) => instance.model === model)?.expiresIn
    await ask(yard, 'lasting')
    await ask(yard, 'usual')
    await ask(yard, 'fleeting')
    expect(unloaded()).toEqual(['fleeting'])
    expect(expiry('lasting')).toBeNull()
    expect(expiry('usual')).toBeGreaterThan(590_000)
    await ask(yard, 'usual', '2m')
    expect(expiry('usual')).toBeLessThanOrEqual(120_000)
    await ask(yard, 'usual', 0)
    await ask(yard, 'lasting', 0)
    expect(unloaded()).toEqual(['fleeting', 'usual', 'lasting'])
    await until(() => yard.state().instances.length === 0)
    await ask(yard, 'fleeting', -1)
    expect(expiry('fleeting')).toBeNull()
  })
})
