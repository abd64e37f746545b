import { describe, expect, it, vi } from 'vitest'
import { Cancellation } from '../base/cancellation.ts'
import { ModelyardError } from '../base/errors.ts'
import { declareAll, newPool } from './fake-engine.ts'
import { PoolLease, type LeaseSurroundings } from './pool-lease.ts'
import { sized } from './simulation/scenario.ts'

describe('a run', () => {
  const task = { kind: 'embedding', inputs: ['x'] } as const

  it('is told the slot and the exact prefix that is kept (R3, F1)', async () => {
    const { pool, engine } = declareAll(newPool(), sized('m', 40))
    const chain = [
      { hash: 'a', end: 10 },
      { hash: 'b', end: 20 },
    ]
    const first = await pool.acquire({ model: 'm', fingerprint: chain })
    first.run({ ...task, inputs: ['x'] })
    first.release({ fingerprint: chain })
    const second = await pool.acquire({ model: 'm', fingerprint: [...chain, { hash: 'c', end: 30 }] })
    second.run({ ...task, inputs: ['x'] })
    second.run({ ...task, inputs: ['x'] })
    second.release()
    const third = await pool.acquire({ model: 'm', fingerprint: chain })
    third.run({ ...task, inputs: ['x'] })
    const kept = engine.models[0]?.runs.map(({ options }) => [options.slot, options.keptPrefix])
    expect(kept).toEqual([
      [0, 0],
      [0, 2],
      [0, 3],
      [0, 0],
    ])
  })

  it('ends with worker_exited and the last log lines when the worker dies; the model comes back (M19)', async () => {
    const fixture = declareAll(newPool(), sized('m', 40))
    const { pool, engine, events } = fixture
    const lease = await pool.acquire({ model: 'm' })
    const stream = lease.run({ ...task, inputs: ['x'] })
    await stream.next()
    engine.models[0]?.crash()
    await expect(stream.next()).rejects.toMatchObject({
      code: 'worker_exited',
      details: { logTail: ['last words'] },
    })
    expect(lease.signal.aborted).toBe(true)
    lease.release()
    lease.release()
    expect(events.filter(({ name }) => name === 'lease-released').length).toBe(1)
    expect((await pool.acquire({ model: 'm' })).instance).toBe('m#2')
  })

  it('is cut by a forced unload, with run_cut', async () => {
    const { pool } = declareAll(newPool(), sized('m', 40))
    const lease = await pool.acquire({ model: 'm' })
    const controller = new AbortController()
    const stream = lease.run({ ...task, inputs: ['x'] }, { signal: controller.signal })
    await stream.next()
    const unloading = pool.unload('m', { force: true })
    await expect(stream.next()).rejects.toMatchObject({ code: 'run_cut' })
    await unloading
    expect(pool.status().instances).toEqual([])
  })

  it('cannot be started on a lease that was given back', async () => {
    const { pool } = declareAll(newPool(), sized('m', 40))
    const lease = await pool.acquire({ model: 'm' })
    lease.release()
    expect(() => lease.run({ ...task, inputs: ['x'] })).toThrow('given back')
  })

  it('ends by its own signal', async () => {
    const { pool } = declareAll(newPool(), sized('m', 40))
    const lease = await pool.acquire({ model: 'm' })
    const controller = new AbortController()
    const stream = lease.run({ ...task, inputs: ['x'] }, { signal: controller.signal })
    await stream.next()
    controller.abort(new ModelyardError('aborted', 'The client is gone.'))
    await expect(stream.next()).rejects.toMatchObject({ message: 'The client is gone.' })
    expect(lease.signal.aborted).toBe(false)
  })

  it('hands a signal of Node on, or, where the model goes by it, what that fires with', async () => {
    const { pool, engine } = declareAll(newPool(), sized('m', 40))
    const lease = await pool.acquire({ model: 'm' })
    const controller = new AbortController()
    const [model] = engine.models
    lease.run({ ...task, inputs: ['x'] }, { signal: controller.signal })
    Object.assign(model ?? {}, { takesStop: true })
    lease.run({ ...task, inputs: ['x'] }, { signal: controller.signal })
    const [plain, lazy] = model?.runs.map(({ options }) => options) ?? []
    expect([plain?.signal instanceof AbortSignal, plain?.stop]).toEqual([true, undefined])
    expect([lazy?.stop instanceof Cancellation, lazy?.signal instanceof AbortSignal]).toEqual([true, true])
    controller.abort(new ModelyardError('aborted', 'The client is gone.'))
    for (const signal of [plain?.signal, lazy?.signal, lazy?.stop])
      expect(signal?.reason).toMatchObject({ message: 'The client is gone.' })
  })

  it.each([
    [false, 0],
    [true, 1],
  ])(
    'tells that its prompt is there only where others can copy it while it answers (%s)',
    async (saves, times) => {
      const { pool, engine } = declareAll(newPool(), sized('m', 40))
      const { loaded } = await pool.acquire({ model: 'm' })
      Object.assign(engine.models[0] ?? {}, { savesWhileAnswering: saves })
      const onPrompt = vi.fn<LeaseSurroundings['onPrompt']>()
      const granted = { ...GRANTED, instance: 'm#1' }
      new PoolLease(granted, loaded, [{ hash: 'a', end: 10 }], undefined, {
        onPrompt,
        onRelease: vi.fn(),
      }).reportPrompt(7)
      expect(onPrompt).toHaveBeenCalledTimes(times)
    },
  )
})

const GRANTED = {
  type: 'grant-lease',
  ticket: 'ticket-1',
  lease: 'lease-1',
  model: 'm',
  instance: 'm#1',
  slot: 0,
  keptPrefix: 0,
  queueMs: 0,
  loadMs: 0,
  reason: 'the slot is empty',
} as const
