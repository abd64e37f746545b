import { describe, expect, it } from 'vitest'
import { newWorld, sized, ROOMY } from '../simulation/scenario.ts'
import { backoff } from './failure.ts'

describe('failure is a value (R11)', () => {
  it('backs off exponentially up to a cap', () => {
    expect([0, 1, 2, 3, 4, 5, 50].map((failures) => backoff(failures, ROOMY))).toEqual([
      0, 1000, 2000, 4000, 8000, 8000, 8000,
    ])
  })

  it('tells all who wait the cause and when to come again (F5)', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { failing: 1 }))
    const visitors = [1, 2, 3].map(() => world.request({ model: 'm' }))
    world.run(1000)
    for (const { refusedWith } of visitors) {
      expect(refusedWith).toMatchObject({
        code: 'model_load_failed',
        retryAfter: 1000,
        details: { model: 'm', failure: 'crash' },
      })
    }
    expect(world.state.instances).toEqual([])
  })

  it('refuses at once during the backoff, with the rest of it', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { failing: 1 }))
    world.request({ model: 'm' })
    world.run(500)
    expect(world.request({ model: 'm' }).refusedWith).toMatchObject({
      code: 'model_load_failed',
      retryAfter: 600,
    })
  })

  it('bricks nothing: after the backoff the model is tried again, and works (BR-20)', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { failing: 1 }))
    world.request({ model: 'm' })
    world.run(5000)
    world.declare(sized('m', 40, { failing: 0 }))
    const later = world.request({ model: 'm', hold: 10 })
    world.run(10_000)
    expect(later.outcome).toBe('done')
    expect(world.state.models.get('m')).toMatchObject({ failures: 0, lastError: undefined })
  })

  it('does not refuse those whom another copy serves', () => {
    const world = newWorld({ seed: 2 })
    world.declare(sized('m', 40, { maxInstances: 2 }))
    world.request({ model: 'm', hold: 3000 })
    world.run(1000)
    world.declare(sized('m', 40, { maxInstances: 2, failing: 1 }))
    const waiting = world.request({ model: 'm', hold: 10 })
    world.run(2000)
    expect(world.state.models.get('m')?.lastError?.code).toBe('model_load_failed')
    expect(waiting.outcome).toBe('waiting')
    world.run(5000)
    expect(waiting.outcome).toBe('done')
  })

  it('gives a load up that shows no progress, and says after how long (M10, BR-20)', () => {
    const world = newWorld({ limits: { loadDeadline: { base: 5000, perGiB: 0 } } })
    world.declare(sized('slow', 40, { loadTime: 30_000 }))
    const visitor = world.request({ model: 'slow' })
    world.run(6000)
    expect(visitor.refusedWith).toMatchObject({
      code: 'model_load_failed',
      details: { failure: 'timeout', elapsed: 5000, limit: 5000 },
    })
    world.run(40_000)
    expect(world.copies.size).toBe(0)
  })

  it('starts the deadline again with each sign of progress', () => {
    const world = newWorld({ limits: { loadDeadline: { base: 5000, perGiB: 0 } } })
    world.declare(sized('slow', 40, { loadTime: 9000 }))
    const visitor = world.request({ model: 'slow', hold: 10 })
    world.run(20_000)
    expect(visitor.outcome).toBe('done')
  })

  it('forgives two crashes at once, for the request may be at fault, and backs off in a crash loop (M19, P16)', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { crashing: 1 }))
    const visitors = [1, 2, 3].map(() => world.request({ model: 'm', hold: 100 }))
    world.run(1000)
    expect(visitors.map(({ outcome }) => outcome)).toEqual(['cut', 'cut', 'cut'])
    expect(world.request({ model: 'm' }).refusedWith).toMatchObject({ code: 'worker_exited' })
    expect(world.state.models.get('m')?.failures).toBe(3)
  })

  it('takes a crash after a long life for a first one', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { keepAlive: -1 }))
    for (let crash = 0; crash < 5; crash++) {
      world.request({ model: 'm', hold: 1 })
      world.run(world.now + 100_000)
      for (const copy of world.copies.values()) world.machine.crash(copy)
      world.run(world.now + 1000)
      expect(world.state.models.get('m')?.failures).toBe(1)
    }
  })

  it('is not forgiven for a copy whose load began before it, were it in the same millisecond', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { maxInstances: 2, slots: 1 }))
    const visitors = [1, 2].map(() => world.request({ model: 'm', hold: 10 }))
    expect([...world.copies.keys()]).toEqual(['m#1', 'm#2'])
    const error = { code: 'model_load_failed', message: 'It did not load.', details: {} } as const
    world.send({ type: 'load-failed', instance: 'm#1', error, failure: 'crash', logTail: [] })
    world.run(500)
    expect(visitors.at(-1)?.outcome).toBe('done')
    expect(world.state.models.get('m')).toMatchObject({ failures: 1, retryAt: 1000 })
  })

  it('of a second copy is tried again when its time has come, though nothing else happens and the first copy is busy', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { maxInstances: 2, slots: 1, loadTime: 100, warmUpTime: 1000 }))
    world.request({ model: 'm', hold: 60_000 })
    world.run(2000)
    const second = world.request({ model: 'm', hold: 10 })
    expect([...world.copies.keys()]).toEqual(['m#1', 'm#2'])
    world.run(2500)
    // While it warms up.
    const copy = world.copies.get('m#2')
    if (copy !== undefined) world.machine.crash(copy)
    expect([second.outcome, world.state.models.get('m')?.failures]).toEqual(['waiting', 1])
    world.run(8000)
    expect(second.outcome).toBe('done')
  })
})
