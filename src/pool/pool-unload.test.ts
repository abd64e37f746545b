import { describe, expect, it } from 'vitest'
import { declareAll, newPool, settled, type PoolFixture } from './fake-engine.ts'
import { sized } from './simulation/scenario.ts'

describe('an unload', () => {
  it('never slips in between the look for a slot and the lease (BR-47, F15)', async () => {
    for (let round = 0; round < 50; round++) {
      const { pool } = declareAll(newPool(), sized('a', 60), sized('b', 60))
      ;(await pool.acquire({ model: 'a' })).release()
      const own = pool.acquire({ model: 'a' })
      const other = pool.acquire({ model: 'b' })
      const lease = await own
      expect(pool.status().instances).toMatchObject([{ id: lease.instance, state: 'ready', leases: 1 }])
      await settled()
      expect(lease.signal.aborted).toBe(false)
      lease.release()
      ;(await other).release()
    }
  })

  it('makes a request wait and load once, not use what is dying (BR-70)', async () => {
    for (let round = 0; round < 50; round++) {
      const { pool, engine } = declareAll(newPool(), sized('m', 40))
      ;(await pool.acquire({ model: 'm' })).release()
      const [dying] = engine.models
      if (dying !== undefined) dying.clings = true
      const unloading = pool.unload('m')
      const acquiring = pool.acquire({ model: 'm' })
      await settled()
      expect(engine.pending.length).toBe(1)
      dying?.exit({ expected: true, reason: 'unloaded', logTail: [] })
      await unloading
      expect((await acquiring).instance).toBe('m#2')
      expect(engine.pending.length).toBe(2)
    }
  })

  it('keeps a device’s bytes charged until they are seen back, and tells a leak by its size (BR-48)', async () => {
    const gpu = (available: number): PoolFixture['reading'] => ({
      ram: { total: 2000, available: 1000, source: 'test' },
      'gpu:0': { total: 100, available, source: 'test' },
    })
    const memory = { ram: { budget: 100, absolute: 100 }, 'gpu:0': { budget: 90, absolute: 90 } }
    const fixture = newPool({ roomFor: { memory, memoryGrace: 3000 } })
    const footprint = { 'gpu:0': { weights: 60, context: 0, compute: 0, base: 0 } }
    declareAll(fixture, sized('a', 0, { footprint }), sized('b', 0, { footprint }))
    const { pool, clock, events } = fixture
    fixture.reading = gpu(100)
    ;(await pool.acquire({ model: 'a' })).release()
    fixture.reading = gpu(40)
    const acquiring = pool.acquire({ model: 'b' })
    acquiring.catch(() => undefined)
    for (let tick = 0; tick < 10; tick++) {
      clock.advance(100)
      await settled()
    }
    expect(pool.status().memory['gpu:0']).toMatchObject({ booked: 60, releasing: 60 })
    fixture.reading = gpu(100)
    clock.advance(100)
    await settled()
    expect((await acquiring).instance).toBe('b#2')
    expect(events.find(({ name }) => name === 'unload-finished')?.data).toMatchObject({ released: 60 })
    ;(await acquiring).release()
    fixture.reading = gpu(40)
    const unloading = pool.unload('b')
    for (let tick = 0; tick < 40; tick++) {
      clock.advance(100)
      await settled()
    }
    await unloading
    expect(events.at(-1)).toMatchObject({ name: 'warning-raised', data: { code: 'memory_leaked' } })
    expect(events.at(-1)?.data).toMatchObject({
      message: 'b#2 is gone, but 60 bytes it held are not seen back.',
    })
  })

  it('of what is neither model nor instance is refused', async () => {
    const { pool } = declareAll(newPool(), sized('m', 40))
    await expect(pool.unload('n')).rejects.toMatchObject({ code: 'model_not_found' })
  })

  it('of one instance leaves the others', async () => {
    const { pool } = declareAll(newPool(), sized('m', 20, { maxInstances: 2 }))
    const leases = await Promise.all([pool.acquire({ model: 'm' }), pool.acquire({ model: 'm' })])
    for (const lease of leases) lease.release()
    await pool.unload('m#1')
    expect(pool.status().instances.map(({ id }) => id)).toEqual(['m#2'])
  })
})

describe('a stop (P12)', () => {
  it('answers all who wait, lets a run end, and then nothing is left', async () => {
    const { pool, engine } = declareAll(newPool(), sized('m', 40))
    const lease = await pool.acquire({ model: 'm' })
    const waiting = pool.acquire({ model: 'm' })
    const stopping = pool.stop({ deadline: 5000 })
    await expect(waiting).rejects.toMatchObject({ code: 'shutting_down' })
    await expect(pool.acquire({ model: 'm' })).rejects.toMatchObject({ code: 'shutting_down' })
    lease.release()
    await stopping
    expect(engine.models[0]?.unloads).toBe(1)
    expect(pool.status()).toMatchObject({ instances: [], queue: [], runs: { active: 0 } })
  })

  it('cuts what runs on past the deadline', async () => {
    const { pool, clock } = declareAll(newPool(), sized('m', 40))
    const lease = await pool.acquire({ model: 'm' })
    const stopping = pool.stop({ deadline: 5000 })
    clock.advance(5000)
    await stopping
    expect(lease.signal.reason).toMatchObject({ code: 'shutting_down' })
    lease.release()
  })

  it('ends even when a process does not', async () => {
    const { pool, engine, clock } = declareAll(newPool(), sized('m', 40))
    ;(await pool.acquire({ model: 'm' })).release()
    for (const model of engine.models) model.clings = true
    const stopping = pool.stop({ deadline: 0 })
    await settled()
    clock.advance(15_000)
    await stopping
    expect(pool.status().instances).toMatchObject([{ state: 'unloading' }])
  })

  it('twice, and on an empty pool, is harmless', async () => {
    const { pool } = declareAll(newPool(), sized('m', 40))
    await Promise.all([pool.stop(), pool.stop()])
    await pool[Symbol.asyncDispose]()
    expect(pool.status().instances).toEqual([])
  })

  it('ends readiness that will not come', async () => {
    const { pool } = declareAll(newPool({ manual: true }), sized('m', 40))
    const ready = pool.ready('m')
    await Promise.all([
      expect(ready).rejects.toMatchObject({ code: 'shutting_down' }),
      pool.stop({ deadline: 0 }),
    ])
  })
})
