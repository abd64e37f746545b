import { PROGRAM_BYTES } from '../../src/engines/llama-cpp/footprint.ts'
import { describe, expect, it } from 'vitest'
import type { YardEvent } from '../../src/events/event-map.ts'
import type { Yard } from '../../src/yard.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { HAS_LLAMA, isRunning, ownYards, until, user } from './harness.ts'

const { open } = ownYards()

const MODEL = {
  engine: 'scripted',
  isolation: 'worker',
  script: [{ match: 'for ever', text: 'tick ', repeat: 100_000, delay: 10 }, { text: 'fine' }],
} as const

async function ask(yard: Yard, model: string, words = 'hello'): Promise<string> {
  return await yard.chat({ model, messages: [user(words)] }).text()
}

const ready = (yard: Yard, model: string): string[] =>
  yard.state().instances.flatMap((one) => (one.model === model && one.state === 'ready' ? one.id : []))

describe('P2, P9: instances that are always there', () => {
  it('prepare: "blocking" is ready when createYard resolves, "background" soon after, "on-demand" with the first request', async () => {
    const yard = await open({
      models: {
        blocking: { ...MODEL, prepare: 'blocking' },
        background: { ...MODEL, prepare: 'background' },
        demand: MODEL,
      },
    })
    expect(ready(yard, 'blocking')).toHaveLength(1)
    await until(() => ready(yard, 'background').length === 1)
    expect(ready(yard, 'demand')).toEqual([])
    expect(await ask(yard, 'demand')).toBe('fine')
  })

  it('a background model that cannot be loaded is a warning, and harms nobody', async () => {
    const events: YardEvent[] = []
    const failLoad = { class: 'bad_file' as const, message: 'It is a cake recipe.', times: 1 }
    const broken = { engine: 'scripted', prepare: 'background', loadTime: 50, failLoad } as const
    const yard = await open({ models: { broken, fine: MODEL } })
    yard.subscribe((event) => events.push(event))
    await until(() => events.some(({ name }) => name === 'warning-raised'))
    expect(JSON.stringify(events)).toContain('cake recipe')
    expect(await ask(yard, 'fine')).toBe('fine')
  })

  it('minInstances are restored after any loss, by themselves', async () => {
    const yard = await open({
      models: { two: { ...MODEL, minInstances: 2, maxInstances: 3, prepare: 'blocking' } },
    })
    expect(ready(yard, 'two')).toHaveLength(2)
    const lost = yard.state().instances.map(({ pid = 0 }) => pid)
    for (const pid of lost) process.kill(pid, 'SIGKILL')
    await until(() => {
      const pids = yard.state().instances.flatMap(({ pid, state }) => (state === 'ready' ? (pid ?? 0) : []))
      return pids.length === 2 && !pids.some((pid) => lost.includes(pid))
    })
    expect(lost.some(isRunning)).toBe(false)
    expect(await ask(yard, 'two')).toBe('fine')
  })

  it('and never fall below that for being idle; what is beyond them goes (F13)', async () => {
    const yard = await open({
      models: {
        kept: {
          ...MODEL,
          slots: 1,
          minInstances: 1,
          maxInstances: 2,
          keepAlive: '300ms',
          prepare: 'blocking',
        },
      },
    })
    const [first, second] = [ask(yard, 'kept', 'for ever'), ask(yard, 'kept')]
    expect(await second).toBe('fine')
    expect(ready(yard, 'kept')).toHaveLength(2)
    await until(() => yard.state().instances.length === 1)
    first.catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, 1000))
    expect(ready(yard, 'kept')).toHaveLength(1)
    await yard.stop({ deadline: 0 })
    await expect(first).rejects.toMatchObject({ code: 'shutting_down' })
  })

  it('P5: a new instance is made for the second conversation when there may be two, and no third', async () => {
    const yard = await open({ models: { pair: { ...MODEL, slots: 1, maxInstances: 2 } } })
    const leases = [await yard.pool.acquire({ model: 'pair' }), await yard.pool.acquire({ model: 'pair' })]
    expect(new Set(leases.map(({ instance }) => instance)).size).toBe(2)
    const third = yard.pool.acquire({ model: 'pair' })
    await until(() => yard.state().queue.length === 1)
    expect(yard.state().instances).toHaveLength(2)
    leases[1]?.release()
    expect((await third).instance).toBe(leases[1]?.instance)
  })

  it.runIf(HAS_LLAMA)(
    'two copies of one file share its mapped weights, and the pages of their program: they are booked once (R4)',
    async () => {
      const yard = await open({
        models: { pair: { file: TINY_CHAT, context: 512, slots: 1, maxInstances: 2 } },
      })
      await Promise.all([yard.pool.acquire({ model: 'pair' }), yard.pool.acquire({ model: 'pair' })])
      const { memory, instances } = yard.state()
      expect(instances).toHaveLength(2)
      const sum = instances.reduce((total, { booked }) => total + (booked.ram ?? 0), 0)
      const weights = instances[0]?.estimated.ram?.weights ?? 0
      expect(memory.ram?.booked).toBe(sum - weights - PROGRAM_BYTES)
    },
  )
})

describe('P10, P11, F10: what others are told', () => {
  it('events and state tell everything of a request but its words', async () => {
    const yard = await open({
      models: {
        talker: { ...MODEL, slots: 1 },
        broken: {
          engine: 'scripted',
          script: [{ match: 'fail', text: ['so far'], error: { at: 1, message: 'It broke.' } }],
        },
      },
    })
    const events: YardEvent[] = []
    const states: string[] = []
    yard.subscribe((event) => {
      events.push(event)
      states.push(JSON.stringify(yard.state()))
    })
    await ask(yard, 'talker', 'XYZZY hello')
    await Promise.all([ask(yard, 'talker', 'PLUGH one'), ask(yard, 'talker', 'PLUGH two')])
    await expect(ask(yard, 'broken', 'fail on PLOVER')).rejects.toMatchObject({ code: 'engine_failed' })
    await yard.unloadModel('talker')
    const told = JSON.stringify(events) + states.join('')
    expect(told).not.toMatch(/XYZZY|PLUGH|PLOVER|hello|so far/)
    expect(new Set(events.map(({ name }) => name))).toEqual(
      new Set([
        'ticket-queued',
        'load-started',
        'load-progressed',
        'load-finished',
        'instance-ready',
        'lease-granted',
        'lease-released',
        'run-finished',
        'unload-started',
        'unload-finished',
      ]),
    )
    const ids = events.map(({ id }) => id)
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
  })

  it('a model that failed tells why and when it is tried again, and works then (R11, F5)', async () => {
    const failLoad = { class: 'out_of_memory' as const, message: 'There is no room.', times: 1 }
    const yard = await open({ models: { once: { engine: 'scripted', failLoad } } })
    await expect(ask(yard, 'once')).rejects.toMatchObject({
      code: 'model_load_failed',
      details: { failure: 'out_of_memory' },
    })
    const [model] = yard.state().models
    expect(model).toMatchObject({
      state: 'failed',
      lastError: { code: 'model_load_failed', message: expect.stringContaining('no room') as string },
    })
    expect(model?.lastError?.retryIn).toBeGreaterThan(0)
    await expect(ask(yard, 'once')).rejects.toMatchObject({ retryAfter: expect.any(Number) as number })
    await until(() => yard.state().models[0]?.lastError?.retryIn === 0)
    expect(await ask(yard, 'once')).toBe('hello')
    expect(yard.state().models[0]).toMatchObject({ state: 'ready' })
    expect(yard.state().models[0]?.lastError).toBeUndefined()
  })
})

describe('M11, M15: what is remembered of a model over a restart', () => {
  it('loads, their time, that of the first token, that it has answered, and how often it was asked for of late', async () => {
    const options = {
      models: {
        slow: { ...MODEL, isolation: 'none' as const, memory: '300MiB', loadTime: 300 },
        other: { ...MODEL, isolation: 'none' as const, memory: '300MiB' },
      },
      memory: { budget: '400MiB', headroom: 0 },
    }
    const first = await open(options)
    expect(first.state().models).toMatchObject([{ id: 'slow', record: null }, { id: 'other' }])
    for (let turn = 0; turn < 3; turn++) expect(await ask(first, 'slow')).toBe('fine')
    await first.stop()
    const second = await open(options)
    const record = second.state().models[0]?.record
    expect(record).toMatchObject({ loads: 1, verified: true, lastError: null })
    expect(record?.loadMs).toBeGreaterThanOrEqual(290)
    expect(record?.firstTokenMs).toBeGreaterThan(0)
    const reasons: string[] = []
    second.subscribe((event) => {
      if (event.name === 'unload-started') reasons.push(event.data.reason)
    })
    await second.loadModel('slow')
    await second.loadModel('other')
    // Three times in the last life, aged by seconds, and by the operator in this one.
    expect(reasons).toEqual([expect.stringContaining('asked for 4 times of late') as string])
  })
})

describe('P8: GPUs', () => {
  const GIB = 1024 ** 3
  // These cards never have less free, so nothing is seen to come back: whoever waits for that need not wait long.
  const memory = { headroom: 0, grace: '100ms' }
  const reading = { total: 4 * GIB, available: 4 * GIB, source: 'nvidia-smi, Test Card' }
  const memoryProbe = {
    read: () => ({ ram: { ...reading, source: 'test' }, 'gpu:0': reading, 'gpu:1': reading }),
  }
  const onCard = {
    ...MODEL,
    isolation: 'none' as const,
    memory: { 'gpu:0': '1GiB' },
    prepare: 'background' as const,
  }

  it('the first model that demands one is loaded first at the start, wherever it stands in the configuration', async () => {
    const yard = await open({
      memoryProbe,
      memory,
      models: {
        usual: { ...onCard, loadTime: 50 },
        other: { ...onCard, loadTime: 50 },
        demanding: { ...onCard, device: { gpu: true }, loadTime: 50 },
      },
    })
    await until(() => ['usual', 'other', 'demanding'].every((model) => ready(yard, model).length === 1))
    const order = yard.state().instances.map(({ id }) => id)
    expect(order[0]).toBe('demanding#1')
    expect(yard.state().memory['gpu:0']?.booked).toBe(3 * GIB)
  })

  it('gpu.exclusive: each device has one owner, the next has it handed over, and the other device is nobody’s affair', async () => {
    const yard = await open({
      memoryProbe,
      memory,
      gpu: { exclusive: true },
      models: {
        a: { ...onCard, prepare: 'on-demand' },
        b: { ...onCard, prepare: 'on-demand' },
        c: { ...onCard, prepare: 'on-demand', memory: { 'gpu:1': '1GiB' } },
      },
    })
    for (const model of ['a', 'c', 'b']) expect(await ask(yard, model)).toBe('fine')
    expect(yard.state().instances.map(({ model }) => model)).toEqual(['c', 'b'])
    await yard.control.pin('b', true)
    await expect(ask(yard, 'a')).rejects.toMatchObject({
      code: 'model_too_large',
      message: expect.stringContaining('gpu.exclusive') as string,
    })
  })
})
