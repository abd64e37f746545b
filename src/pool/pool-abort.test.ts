import { describe, expect, it, vi } from 'vitest'
import { ModelyardError } from '../base/errors.ts'
import { declareAll, newPool, settled } from './fake-engine.ts'
import { sized } from './simulation/scenario.ts'

describe('an abort (P3)', () => {
  it('of a signal that has fired already asks for nothing', async () => {
    const { pool, engine } = declareAll(newPool(), sized('m', 40))
    await expect(pool.acquire({ model: 'm', signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    })
    expect(engine.pending.length).toBe(0)
  })

  it('while loading cancels the load and rejects with the signal’s own error', async () => {
    const { pool, engine } = declareAll(newPool({ manual: true }), sized('m', 40))
    const controller = new AbortController()
    const acquiring = pool.acquire({ model: 'm', signal: controller.signal })
    const reason = new ModelyardError('timeout', 'My own limit.')
    controller.abort(reason)
    await expect(acquiring).rejects.toBe(reason)
    await settled()
    expect(engine.pending[0]?.options.signal.aborted).toBe(true)
    expect(pool.status()).toMatchObject({ instances: [], queue: [], runs: { active: 0 } })
  })

  it('while swapping leaves neither lease nor load (F8)', async () => {
    const { pool, engine } = declareAll(newPool(), sized('a', 60), sized('b', 60))
    ;(await pool.acquire({ model: 'a' })).release()
    const [resident] = engine.models
    if (resident !== undefined) resident.clings = true
    const controller = new AbortController()
    const acquiring = pool.acquire({ model: 'b', signal: controller.signal })
    expect(pool.status().models['b']?.state).toBe('evicting')
    controller.abort()
    await expect(acquiring).rejects.toMatchObject({ code: 'aborted' })
    resident?.exit({ expected: true, reason: 'unloaded', logTail: [] })
    await settled()
    expect(engine.pending.length).toBe(1)
    expect(pool.status().instances).toEqual([])
  })

  it('while queued takes the ticket out, others move up', async () => {
    const { pool } = declareAll(newPool(), sized('m', 40))
    const first = await pool.acquire({ model: 'm' })
    const controller = new AbortController()
    const leaver = pool.acquire({ model: 'm', signal: controller.signal })
    const stayer = pool.acquire({ model: 'm' })
    controller.abort()
    await expect(leaver).rejects.toMatchObject({ code: 'aborted' })
    first.release()
    expect((await stayer).slot).toBe(0)
  })

  it('leaves no listener on a long-lived signal, however the ticket ends (F14)', async () => {
    const { pool } = declareAll(newPool({ roomFor: { queuePerModel: 1 } }), sized('m', 40))
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    for (let round = 0; round < 20; round++) {
      const lease = await pool.acquire({ model: 'm', signal })
      const waiting = pool.acquire({ model: 'm', signal })
      await expect(pool.acquire({ model: 'm', signal })).rejects.toMatchObject({ code: 'queue_full' })
      const stream = lease.run({ kind: 'embedding', inputs: [] }, { signal })
      await stream.next()
      lease.release()
      ;(await waiting).release()
    }
    expect(added.mock.calls.length).toBeGreaterThanOrEqual(40)
    expect(removed.mock.calls.length).toBe(added.mock.calls.length)
  })

  it('of some does not end the load of others; of all it does (BR-16)', async () => {
    const { pool, engine } = declareAll(newPool({ manual: true }), sized('m', 40, { slots: 4 }))
    const leavers = Array.from({ length: 3 }, () => new AbortController())
    const leaving = leavers.map(({ signal }) => pool.acquire({ model: 'm', signal }))
    const staying = pool.acquire({ model: 'm' })
    for (const controller of leavers) controller.abort()
    await Promise.allSettled(leaving)
    expect(engine.pending[0]?.options.signal.aborted).toBe(false)
    engine.pending[0]?.finish()
    expect((await staying).instance).toBe('m#1')
    expect(engine.pending.length).toBe(1)
  })
})
