import { describe, expect, it } from 'vitest'
import { declareAll, newPool, settled } from './fake-engine.ts'
import { sized } from './simulation/scenario.ts'

const SECRET = 'the words of a user'

describe('the status (P11, M1)', () => {
  it('shows instances, slots, leases, memory and threads in numbers', async () => {
    const { pool, clock } = declareAll(
      newPool({ roomFor: { threads: 4 } }),
      sized('m', 40, { slots: 2, threads: 3 }),
    )
    const lease = await pool.acquire({ model: 'm', fingerprint: [{ hash: 'x', end: 700 }] })
    clock.advance(1500)
    expect(pool.status()).toMatchObject({
      instances: [
        {
          id: 'm#1',
          model: 'm',
          state: 'ready',
          pid: 4711,
          contextSize: 4096,
          threads: 3,
          slots: [
            { index: 0, leased: true, cached: 0 },
            { index: 1, leased: false, cached: 0 },
          ],
          leases: 1,
          booked: { ram: 40 },
          estimated: { ram: { weights: 40, context: 0, compute: 0, base: 0 } },
          idleFor: 1500,
          expiresIn: null,
        },
      ],
      models: { m: { state: 'ready', pinned: false, loads: 1, evictions: 0 } },
      memory: {
        ram: {
          budget: 100,
          absolute: 120,
          booked: 40,
          loading: 0,
          resident: 40,
          releasing: 0,
          host: { total: 2000, available: 1000, source: 'test' },
        },
      },
      threads: { limit: 4, active: 3 },
      runs: { active: 1, limit: 100 },
    })
    lease.release({ fingerprint: [{ hash: 'x', end: 700 }] })
    const [instance] = pool.status().instances
    expect(instance?.slots[0]).toEqual({ index: 0, leased: false, cached: 700 })
    expect(instance?.expiresIn).toBe(300_000)
  })

  it('shows the queue in the order in which it is served, with reasons', async () => {
    const { pool, clock } = declareAll(newPool(), sized('m', 40), sized('n', 80))
    await pool.acquire({ model: 'm' })
    const waiting = [
      pool.acquire({ model: 'm', priority: 'background' }),
      pool.acquire({ model: 'm' }),
      pool.acquire({ model: 'n', priority: 'interactive' }),
    ]
    for (const ticket of waiting) ticket.catch(() => undefined)
    clock.advance(2000)
    expect(pool.status().queue).toEqual([
      {
        id: 'ticket-4',
        model: 'n',
        priority: 'interactive',
        waitingFor: 2000,
        position: 0,
        reason: 'it needs 80 B of ram, 60 B are free; waits until m#1 can go',
      },
      {
        id: 'ticket-3',
        model: 'm',
        priority: 'normal',
        waitingFor: 2000,
        position: 0,
        reason: 'all 1 slots of m#1 are in use',
      },
      {
        id: 'ticket-2',
        model: 'm',
        priority: 'background',
        waitingFor: 2000,
        position: 1,
        reason: '1 older requests wait for the same model; all 1 slots of m#1 are in use',
      },
    ])
    expect(pool.status().models['n']?.state).toBe('queued')
    await pool.stop({ deadline: 0 })
  })

  it('goes through the states of a model as seen from outside', async () => {
    const { pool, engine } = declareAll(newPool({ manual: true }), sized('a', 60), sized('b', 60))
    const stateOf = (id: string): string | undefined => pool.status().models[id]?.state
    const seen: (string | undefined)[] = [stateOf('a')]
    const first = pool.acquire({ model: 'a' })
    seen.push(stateOf('a'))
    const model = engine.pending[0]?.finish()
    const lease = await first
    seen.push(stateOf('a'))
    if (model !== undefined) model.clings = true
    const unloading = pool.unload('a')
    seen.push(stateOf('a'))
    lease.release()
    seen.push(stateOf('a'))
    model?.exit({ expected: true, reason: 'unloaded', logTail: [] })
    await unloading
    seen.push(stateOf('a'))
    expect(seen).toEqual(['unloaded', 'loading', 'ready', 'draining', 'unloading', 'unloaded'])
  })

  it('names whom a swap evicts', async () => {
    const { pool, engine } = declareAll(newPool(), sized('a', 60), sized('b', 60))
    ;(await pool.acquire({ model: 'a' })).release()
    for (const model of engine.models) model.clings = true
    const waiting = pool.acquire({ model: 'b' })
    expect(pool.status()).toMatchObject({
      models: { b: { state: 'evicting' }, a: { state: 'unloading', evictions: 1 } },
      queue: [{ reason: 'a#1 is unloaded to free 60 B' }],
      memory: { ram: { booked: 60, releasing: 60, resident: 0 } },
    })
    engine.models[0]?.exit({ expected: true, reason: 'unloaded', logTail: [] })
    expect((await waiting).instance).toBe('b#2')
  })

  it('adds shared weights up to what is booked', async () => {
    const sharedWeights = { key: 'file', domain: 'ram', bytes: 30 } as const
    const { pool } = declareAll(
      newPool(),
      sized('a', 50, { sharedWeights }),
      sized('b', 40, { sharedWeights }),
    )
    await pool.load('a')
    await pool.load('b')
    const { booked, resident } = pool.status().memory.ram ?? { booked: 0, resident: -1 }
    expect(booked).toBe(60)
    expect(resident).toBe(60)
  })

  it('never shows a word of a user’s text, nor do events (F10)', async () => {
    const fixture = declareAll(newPool(), sized('m', 40))
    const { pool, events } = fixture
    const chain = [{ hash: SECRET, end: 10 }]
    const lease = await pool.acquire({ model: 'm', fingerprint: chain })
    const waiting = pool.acquire({ model: 'm', fingerprint: chain })
    const during = JSON.stringify([pool.status(), pool.forecast('m')])
    lease.release({ fingerprint: chain })
    ;(await waiting).release({ fingerprint: chain })
    await settled()
    expect(during + JSON.stringify([pool.status(), events])).not.toContain(SECRET)
  })
})
