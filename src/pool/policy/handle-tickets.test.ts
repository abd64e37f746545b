import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'

describe('tickets', () => {
  it('are refused with their number and a time when their model’s queue is full (R2)', () => {
    const world = newWorld({ limits: { queuePerModel: 2 } })
    world.declare(sized('m', 10))
    world.request({ model: 'm', hold: 4000 })
    world.run(1000)
    const [one, two, three] = [1, 2, 3].map(() => world.request({ model: 'm', hold: 10 }))
    expect(one?.outcome).toBe('waiting')
    expect(two?.outcome).toBe('waiting')
    expect(three?.refusedWith).toMatchObject({
      code: 'queue_full',
      details: { model: 'm', queued: 2, limit: 2, place: 2 },
    })
    expect(three?.refusedWith?.retryAfter).toBeGreaterThanOrEqual(1000)
    world.run(20_000)
    expect(two?.outcome).toBe('done')
  })

  it('are refused when too many wait in all, and start no load for that', () => {
    const world = newWorld({ limits: { queue: 1 } })
    for (const id of ['a', 'b']) world.declare(sized(id, 10))
    world.request({ model: 'a', hold: 4000 })
    world.run(1000)
    world.request({ model: 'a' })
    const other = world.request({ model: 'b' })
    expect(other.refusedWith?.code).toBe('queue_full')
    expect(world.state.instances.map(({ model }) => model)).toEqual(['a'])
  })

  it('pass a full queue of waiting ones when their own model is free', () => {
    const world = newWorld({ limits: { queue: 1 } })
    for (const id of ['a', 'b']) world.declare(sized(id, 10))
    world.request({ model: 'b', hold: 10 })
    world.request({ model: 'a', hold: 4000 })
    world.run(1000)
    world.request({ model: 'a', hold: 4000 })
    expect(world.request({ model: 'b', hold: 10 }).outcome).toBe('granted')
  })

  it('for an unknown model are refused with the nearest names', () => {
    const world = newWorld()
    world.declare(sized('smollm2', 10))
    expect(world.request({ model: 'smolm2' }).refusedWith).toMatchObject({
      code: 'model_not_found',
      details: { nearest: ['smollm2'] },
    })
  })

  it('end with a timeout that says what they waited for (P13)', () => {
    const world = newWorld()
    world.declare(sized('m', 10))
    world.request({ model: 'm', hold: 20_000 })
    world.run(1000)
    const waiting = world.request({ model: 'm', timeout: 3000 })
    world.run(3999)
    expect(waiting.outcome).toBe('waiting')
    world.run(4000)
    expect(waiting.refusedWith?.code).toBe('timeout')
    expect(waiting.refusedWith?.message).toContain('all 1 slots of m#1 are in use')
  })

  it.each([0, 1, 50, 100, 105, 110, 400])(
    'leave nothing behind when aborted after %d ms (P3, F8)',
    (delay) => {
      const world = newWorld()
      world.declare(sized('m', 10, { keepAlive: 500 }))
      const visitor = world.request({ model: 'm', hold: 10_000 })
      world.run(delay)
      world.abort(visitor)
      world.run(5000)
      expect(world.state).toMatchObject({ instances: [], queues: [], runs: 0 })
      expect(world.copies.size).toBe(0)
    },
  )

  it('give a lease back once, however often they say so (F9)', () => {
    const world = newWorld()
    world.declare(sized('m', 10))
    world.request({ model: 'm', hold: 100, twice: true })
    const next = world.request({ model: 'm', hold: 5000 })
    const third = world.request({ model: 'm', hold: 10 })
    world.run(2000)
    expect(next.outcome).toBe('granted')
    expect(third.outcome).toBe('waiting')
    expect(world.state.runs).toBe(1)
  })

  it('give a lease back even when the run has not begun (F3)', () => {
    const world = newWorld()
    world.declare(sized('m', 10))
    world.request({ model: 'm', hold: 0 })
    const next = world.request({ model: 'm', hold: 0 })
    world.run(1000)
    expect(next.outcome).toBe('done')
  })
})

describe('tickets that may not wait at all', () => {
  it('get what is free now or a timeout, and start no load', () => {
    const world = newWorld()
    world.declare(sized('m', 10))
    expect(world.request({ model: 'm', timeout: 0 }).refusedWith?.code).toBe('timeout')
    expect(world.state.instances).toEqual([])
    world.request({ model: 'm', hold: 10 })
    world.run(1000)
    expect(world.request({ model: 'm', timeout: 0 }).outcome).toBe('granted')
  })
})
