import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../base/errors.ts'
import type { LoadPlan } from '../engines/engine.ts'
import { declareAll, newPool, settled } from './fake-engine.ts'
import { poolModelOf } from './simulation/simulated-model.ts'
import { sized } from './simulation/scenario.ts'

describe('a lease', () => {
  it('is granted after load and warm-up, with all that is known of it', async () => {
    const fixture = declareAll(newPool(), sized('m', 40))
    const lease = await fixture.pool.acquire({ model: 'm' })
    expect(lease).toMatchObject({
      id: 'lease-1',
      model: 'm',
      instance: 'm#1',
      slot: 0,
      keptPrefix: 0,
      reason: 'slot 0 of m#1 is empty',
      loaded: fixture.engine.models[0],
    })
    expect(fixture.events.map(({ name }) => name)).toEqual([
      'ticket-queued',
      'load-started',
      'load-finished',
      'instance-ready',
      'lease-granted',
    ])
  })

  it('is granted without a timer and within the same turn when a slot is free', async () => {
    const { pool, clock } = declareAll(newPool(), sized('m', 40))
    ;(await pool.acquire({ model: 'm' })).release()
    let granted = false
    const acquiring = (async () => {
      await pool.acquire({ model: 'm' })
      granted = true
    })()
    await Promise.resolve()
    await Promise.resolve()
    expect(granted).toBe(true)
    await acquiring
    expect(clock.now()).toBe(1000)
  })

  it('given back twice frees one slot once (F9)', async () => {
    const { pool } = declareAll(newPool(), sized('m', 40))
    const first = await pool.acquire({ model: 'm' })
    const waiting = pool.acquire({ model: 'm' })
    const third = pool.acquire({ model: 'm' })
    first.release()
    const second = await waiting
    first.release()
    await first[Symbol.asyncDispose]()
    await settled()
    expect(pool.status().runs.active).toBe(1)
    second.release()
    ;(await third).release()
    expect(pool.status().runs.active).toBe(0)
  })

  it('is disposable', async () => {
    const { pool } = declareAll(newPool(), sized('m', 40))
    {
      await using lease = await pool.acquire({ model: 'm' })
      expect(lease.slot).toBe(0)
      expect(pool.status().runs.active).toBe(1)
    }
    expect(pool.status().runs.active).toBe(0)
  })

  it('can be had at once or not at all', async () => {
    const { pool } = declareAll(newPool(), sized('m', 40))
    expect(pool.tryAcquire({ model: 'm' })).toBeUndefined()
    expect(pool.status().instances).toEqual([])
    ;(await pool.acquire({ model: 'm' })).release()
    const lease = pool.tryAcquire({ model: 'm' })
    expect(lease?.instance).toBe('m#1')
    expect(pool.tryAcquire({ model: 'm' })).toBeUndefined()
    lease?.release()
  })

  it('times out with the reason, and leaves nothing (P13)', async () => {
    const { pool, clock } = declareAll(newPool({ manual: true }), sized('m', 40))
    const acquiring = pool.acquire({ model: 'm', timeout: 2000 })
    clock.advance(2000)
    await expect(acquiring).rejects.toMatchObject({
      code: 'timeout',
      message: '"m" could not be had within 2 s: m#1 has been loading for 2 s.',
    })
    await settled()
    expect(pool.status()).toMatchObject({ instances: [], queue: [] })
  })
})

describe('events (P10)', () => {
  it('that a listener answers with calls are decided one after the other (R1)', async () => {
    const fixture = declareAll(newPool(), sized('a', 20), sized('b', 20))
    const { pool, events } = fixture
    const other: Promise<unknown>[] = []
    let atOnce: unknown = 'never asked'
    const push = events.push.bind(events)
    events.push = (...items) => {
      for (const { name } of items) {
        if (name === 'instance-ready' && other.length === 0) {
          atOnce = pool.tryAcquire({ model: 'a' })
          other.push(pool.acquire({ model: 'b' }))
        }
      }
      return push(...items)
    }
    await pool.acquire({ model: 'a' })
    expect(atOnce).toBeUndefined()
    expect(await other[0]).toMatchObject({ model: 'b' })
  })

  it('are balanced: each lease granted is released once', async () => {
    const fixture = declareAll(newPool(), sized('m', 40, { slots: 3 }))
    const visits = Array.from({ length: 30 }, async (_, index) => {
      const lease = await fixture.pool.acquire({ model: 'm' })
      await settled()
      if (index === 10) fixture.engine.models[0]?.crash()
      lease.release()
    })
    await Promise.allSettled(visits)
    await fixture.pool.stop()
    const leases = (name: string): string[] =>
      fixture.events
        .filter((event) => event.name === name)
        .map(({ data }) => (data as { lease: string }).lease)
        .toSorted()
    expect(leases('lease-released')).toEqual(leases('lease-granted'))
    expect(leases('lease-granted').length).toBeGreaterThan(20)
  })
})

describe('plans', () => {
  it('of the engine reach it as they are', async () => {
    const fixture = newPool()
    const model = poolModelOf(sized('m', 40))
    fixture.pool.declare(model)
    await fixture.pool.load('m')
    const plan: LoadPlan | undefined = fixture.engine.pending[0]?.plan
    expect(plan).toBe(model.plan)
  })
})
describe('readiness', () => {
  it('comes with minInstances', async () => {
    const fixture = newPool({ manual: true })
    declareAll(fixture, sized('m', 20, { minInstances: 2, maxInstances: 2 }))
    let isReady = false
    const ready = (async () => {
      await fixture.pool.ready('m')
      isReady = true
    })()
    fixture.engine.pending[0]?.finish()
    await settled()
    expect(isReady).toBe(false)
    fixture.engine.pending[1]?.finish()
    await ready
  })

  it('does not come when the load fails, and says why', async () => {
    const fixture = newPool({ manual: true })
    declareAll(fixture, sized('m', 20, { minInstances: 1 }))
    const ready = fixture.pool.ready('m')
    fixture.engine.pending[0]?.fail(new ModelyardError('model_load_failed', 'Broken.'))
    await expect(ready).rejects.toMatchObject({ code: 'model_load_failed' })
  })

  it('of an unknown model does not come', async () => {
    await expect(newPool().pool.ready('n')).rejects.toMatchObject({ code: 'model_not_found' })
  })
})

describe('the alarm', () => {
  it('rings in time for a keepAlive that is longer than any timer (M21)', async () => {
    const days = 24 * 3_600_000
    const fixture = declareAll(newPool(), sized('m', 40, { keepAlive: 40 * days }))
    ;(await fixture.pool.acquire({ model: 'm' })).release()
    for (let day = 0; day < 39; day++) fixture.clock.advance(days)
    await settled()
    expect(fixture.pool.status().instances).toMatchObject([{ state: 'ready' }])
    fixture.clock.advance(2 * days)
    await settled()
    expect(fixture.pool.status().instances).toEqual([])
  })

  it('asks no timer for more than Node can give', async () => {
    const delays: number[] = []
    const fixture = newPool()
    const { clock } = fixture
    const setTimer = clock.setTimer.bind(clock)
    clock.setTimer = (delay, callback) => {
      delays.push(delay)
      return setTimer(delay, callback)
    }
    declareAll(fixture, sized('m', 40, { keepAlive: 1e12 }))
    ;(await fixture.pool.acquire({ model: 'm' })).release()
    clock.advance(3 * 24 * 3_600_000)
    expect(Math.max(...delays)).toBeLessThan(2 ** 31)
  })
})

describe('a lease within another (P14)', () => {
  it('takes no place of its own and goes first', async () => {
    const fixture = newPool({ roomFor: { concurrency: 1 } })
    declareAll(fixture, sized('caption', 20, { uses: ['chat'] }), sized('chat', 40))
    const outer = await fixture.pool.acquire({ model: 'caption' })
    const other = fixture.pool.acquire({ model: 'chat' })
    const inner = await fixture.pool.acquire({ model: 'chat', within: outer })
    expect(fixture.pool.status().runs.active).toBe(1)
    inner.release()
    outer.release()
    ;(await other).release()
    expect(fixture.pool.status().runs.active).toBe(0)
  })
})

describe('cores (R17)', () => {
  it('models are told when a second one begins to compute, and when one is alone again', async () => {
    const { pool, engine } = declareAll(newPool(), sized('a', 40), sized('b', 40))
    const first = await pool.acquire({ model: 'a' })
    expect(engine.models.map(({ alone }) => alone)).toEqual([[]])
    const second = await pool.acquire({ model: 'b' })
    // `b` came into memory while `a` computed, and is told before its run.
    expect(engine.models.map(({ alone }) => alone.at(-1))).toEqual([false, false])
    first.release()
    expect(engine.models.map(({ alone }) => alone.at(-1))).toEqual([true, true])
    second.release()
    ;(await pool.acquire({ model: 'b' })).release()
    expect(engine.models.map(({ alone }) => alone.at(-1))).toEqual([true, true])
  })

  it('two slots of one model do not crowd it', async () => {
    const { pool, engine } = declareAll(newPool(), sized('m', 40, { slots: 2 }))
    const leases = [await pool.acquire({ model: 'm' }), await pool.acquire({ model: 'm' })]
    expect(engine.models.map(({ alone }) => alone)).toEqual([[]])
    for (const lease of leases) lease.release()
  })
})
