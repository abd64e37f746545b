import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../base/errors.ts'
import type { MeasuredFootprint } from '../host/memory.ts'
import { declareAll, newPool, settled } from './fake-engine.ts'
import { sized } from './simulation/scenario.ts'

describe('a load', () => {
  it('that fails wakes all who wait with the cause, and bricks nothing (F4, F5)', async () => {
    const { pool, engine, clock } = declareAll(newPool({ manual: true }), sized('m', 40))
    const waiting = [1, 2, 3].map(() => pool.acquire({ model: 'm' }))
    engine.pending[0]?.fail(
      new ModelyardError('model_load_failed', 'The file is broken.', {
        details: { failure: 'bad_file', logTail: ['x'] },
      }),
    )
    const outcomes = await Promise.allSettled(waiting)
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: 'model_load_failed', retryAfter: 1000, details: { failure: 'bad_file', model: 'm' } },
      })
    }
    expect(pool.status().models['m']).toMatchObject({
      state: 'failed',
      lastError: { code: 'model_load_failed', retryIn: 1000 },
    })
    clock.advance(1000)
    expect(pool.status().models['m']?.state).toBe('unloaded')
    const again = pool.acquire({ model: 'm' })
    engine.pending[1]?.finish()
    expect((await again).instance).toBe('m#2')
  })

  it('by an engine that throws at once is a failed load like any other (F7)', async () => {
    const { pool } = declareAll(
      newPool({
        load: () => {
          throw new Error('thrown, not rejected')
        },
      }),
      sized('m', 40),
    )
    await expect(pool.acquire({ model: 'm' })).rejects.toMatchObject({ code: 'model_load_failed' })
  })

  it('whose warm-up fails is ended, and the cause is told (R12)', async () => {
    const { pool, engine } = declareAll(newPool({ manual: true }), sized('m', 40))
    const acquiring = pool.acquire({ model: 'm' })
    const model = engine.pending[0]?.finish()
    if (model !== undefined) model.warmUpError = new ModelyardError('engine_failed', 'No token came.')
    await expect(acquiring).rejects.toMatchObject({ code: 'engine_failed' })
    expect(model?.unloads).toBe(1)
    await settled()
    expect(pool.status().instances).toEqual([])
  })

  it('without progress is given up after its deadline, which starts again with each sign (M10, F23)', async () => {
    const { pool, engine, clock } = declareAll(newPool({ manual: true }), sized('m', 40))
    const acquiring = pool.acquire({ model: 'm' })
    for (let round = 0; round < 3; round++) {
      clock.advance(9000)
      engine.pending[0]?.options.onProgress({ stage: 'loading', fraction: 0.1 * round })
    }
    expect(pool.status().instances).toMatchObject([{ state: 'loading', progress: 0.2 }])
    clock.advance(10_000)
    await expect(acquiring).rejects.toMatchObject({
      code: 'model_load_failed',
      details: { failure: 'timeout' },
    })
    expect(engine.pending[0]?.options.signal.aborted).toBe(true)
    await settled()
    expect(pool.status().instances).toEqual([])
  })

  it('tells its first and its last step, and of hundreds between those that can be seen', async () => {
    const { pool, engine, clock, events } = declareAll(newPool({ manual: true }), sized('m', 40))
    const acquiring = pool.acquire({ model: 'm' })
    const { onProgress } = engine.pending[0]?.options ?? { onProgress: () => undefined }
    onProgress({ stage: 'starting' })
    for (let step = 0; step <= 300; step++) {
      onProgress({ stage: 'loading', fraction: step / 300 })
      clock.advance(1)
    }
    onProgress({ stage: 'preparing' })
    engine.pending[0]?.finish()
    await acquiring
    const told = events.flatMap(({ name, data }) => (name === 'load-progressed' ? [data.fraction] : []))
    expect(told).toEqual([0, 99 / 300, 199 / 300, 299 / 300, 1])
  })

  it('that comes through after it was cancelled is unloaded again (F17)', async () => {
    let finish: (() => void) | undefined
    const fixture = newPool({
      load: (plan, options) =>
        new Promise((resolve) => {
          finish = () => {
            const model = fixture.engine.load(plan, { ...options, signal: new AbortController().signal })
            resolve(model)
          }
        }),
    })
    declareAll(fixture, sized('m', 40))
    const controller = new AbortController()
    const acquiring = fixture.pool.acquire({ model: 'm', signal: controller.signal })
    controller.abort()
    await expect(acquiring).rejects.toMatchObject({ code: 'aborted' })
    expect(fixture.pool.status().instances).toMatchObject([{ state: 'unloading' }])
    finish?.()
    await settled()
    expect(fixture.engine.models[0]?.unloads).toBe(1)
    expect(fixture.pool.status().instances).toEqual([])
  })

  it('can be asked for without a run', async () => {
    const { pool } = declareAll(newPool(), sized('m', 40))
    await pool.load('m', { keepAlive: -1 })
    expect(pool.status().instances).toMatchObject([{ state: 'ready', leases: 0, expiresIn: null }])
    expect(pool.isResident('m')).toBe(true)
    await pool.load('m')
    expect(pool.status().models['m']?.loads).toBe(1)
  })

  it('remembers what was measured for the next pool (R4)', async () => {
    const kept = new Map<string, MeasuredFootprint>()
    const measurements = {
      read: (key: string) => kept.get(key),
      write: (key: string, _model: string, measured: MeasuredFootprint) => void kept.set(key, measured),
    }
    const first = declareAll(newPool({ measurements, manual: true }), sized('m', 40))
    const acquiring = first.pool.acquire({ model: 'm' })
    const model = first.engine.pending[0]?.finish()
    if (model !== undefined) model.holds = { ram: { private: 70, shared: 0 } }
    await acquiring
    expect(first.pool.status().instances[0]?.booked).toEqual({ ram: 70 })
    const second = declareAll(newPool({ measurements }), sized('m', 40))
    expect(second.pool.forecast('m').bytes).toEqual({ ram: 70 })
  })

  it('is measured again in use, at most every ten seconds', async () => {
    const { pool, engine, clock } = declareAll(newPool(), sized('m', 40))
    ;(await pool.acquire({ model: 'm' })).release()
    const [model] = engine.models
    if (model !== undefined) model.holds = { ram: { private: 90, shared: 0 } }
    ;(await pool.acquire({ model: 'm' })).release()
    await settled()
    expect(pool.status().instances[0]?.booked).toEqual({ ram: 40 })
    clock.advance(10_000)
    ;(await pool.acquire({ model: 'm' })).release()
    await settled()
    expect(pool.status().instances[0]?.booked).toEqual({ ram: 90 })
  })
})

describe('cold starts', () => {
  it('of several models in a budget for one succeed one after the other, fifty times (BR-15)', async () => {
    for (let round = 0; round < 50; round++) {
      const { pool, engine } = declareAll(newPool(), sized('a', 70), sized('b', 70), sized('c', 70))
      const order: string[] = []
      let most = 0
      const visits = ['a', 'b', 'c'].map(async (model) => {
        const lease = await pool.acquire({ model })
        order.push(model)
        most = Math.max(most, pool.status().instances.length)
        await settled()
        lease.release()
      })
      await Promise.all(visits)
      expect(order).toEqual(['a', 'b', 'c'])
      expect(most).toBe(1)
      expect(engine.pending.length).toBe(3)
    }
  })

  it.each([4, 20])('of one model are one load for %d requests (BR-16)', async (count) => {
    const { pool, engine } = declareAll(newPool(), sized('m', 40, { slots: 4 }))
    const visits = Array.from({ length: count }, async () => {
      const lease = await pool.acquire({ model: 'm' })
      await settled()
      lease.release()
      return lease.instance
    })
    expect(new Set(await Promise.all(visits))).toEqual(new Set(['m#1']))
    expect(engine.pending.length).toBe(1)
  })
})

describe('a probe that fails', () => {
  it('is a no (R5)', async () => {
    const probe = {
      read: (): never => {
        throw new Error('no such file')
      },
    }
    const { pool, clock } = declareAll(newPool({ probe }), sized('m', 40))
    const acquiring = pool.acquire({ model: 'm' })
    clock.advance(5000)
    await expect(acquiring).rejects.toMatchObject({
      code: 'insufficient_memory',
      details: { available: null, need: 40 },
    })
  })
})
