import { describe, expect, it } from 'vitest'
import { declareAll, newPool } from './fake-engine.ts'
import { sized } from './simulation/scenario.ts'

const withContext = {
  id: 'long',
  footprint: { ram: { weights: 40, context: 160, compute: 5, base: 5 } },
  contextSize: 16_384,
}

describe('the forecast of a load', () => {
  it('says what it would take when it fits', () => {
    const { pool } = declareAll(newPool(), sized('m', 40))
    expect(pool.forecast('m')).toEqual({
      model: 'm',
      bytes: { ram: 40 },
      contextSize: 4096,
      slots: 1,
      outcome: 'fits',
      evicts: [],
      largestContext: 4096,
    })
    expect(pool.status().instances).toEqual([])
  })

  it('says that a copy is there', async () => {
    const { pool } = declareAll(newPool(), sized('m', 40))
    await pool.load('m')
    expect(pool.forecast('m').outcome).toBe('resident')
  })

  it('names who would go and why them, and evicts nobody by asking', async () => {
    const { pool, clock } = declareAll(newPool(), sized('a', 30), sized('b', 50), sized('c', 60))
    await pool.load('a')
    await pool.load('b')
    clock.advance(5000)
    expect(pool.forecast('c')).toMatchObject({
      outcome: 'evicts',
      evicts: [
        {
          instance: 'b#2',
          bytes: 50,
          idleFor: 5000,
          reason:
            'idle, and the cheapest to lose that is enough: 0 ms to have it back, asked for once of late',
        },
      ],
    })
    expect(pool.status().instances.length).toBe(2)
  })

  it('names who is in the way', async () => {
    const { pool } = declareAll(newPool(), sized('a', 60), sized('b', 60))
    await pool.acquire({ model: 'a' })
    expect(pool.forecast('b')).toMatchObject({
      outcome: 'waits',
      evicts: [{ instance: 'a#1', reason: 'runs 1 requests' }],
    })
  })

  it('refuses with the largest context that would fit (R6)', () => {
    const { pool } = declareAll(newPool(), withContext)
    expect(pool.forecast('long')).toMatchObject({
      outcome: 'refused',
      refusal: { code: 'model_too_large' },
      largestContext: 5120,
    })
  })

  it('refuses what the machine has no memory for now (R5)', () => {
    const fixture = declareAll(newPool(), sized('m', 40))
    fixture.reading = { ram: { total: 100, available: 39, source: 'test' } }
    expect(fixture.pool.forecast('m')).toMatchObject({
      outcome: 'refused',
      refusal: { code: 'insufficient_memory', details: { need: 40, available: 39 } },
    })
  })

  it('of an unknown model is refused', () => {
    expect(() => newPool().pool.forecast('m')).toThrow('There is no model "m".')
  })

  it('is what then happens', async () => {
    const { pool } = declareAll(newPool(), sized('a', 60), sized('b', 60))
    await pool.load('a')
    const { evicts } = pool.forecast('b')
    ;(await pool.acquire({ model: 'b' })).release()
    const gone = evicts.map(({ instance }) => instance)
    expect(gone).toEqual(['a#1'])
    expect(pool.status().instances.map(({ id }) => id)).toEqual(['b#2'])
  })
})
