import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'

describe('the way to readiness (R12, F24)', () => {
  it('grants nothing before the warm-up is through', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { loadTime: 100, warmUpTime: 5000 }))
    const visitor = world.request({ model: 'm', hold: 10 })
    world.run(4000)
    expect(world.state.instances).toMatchObject([{ state: 'warming' }])
    expect(visitor.outcome).toBe('waiting')
    world.run(6000)
    expect(visitor.outcome).toBe('done')
    expect(visitor.granted).toMatchObject({ queueMs: 5100, loadMs: 5100 })
  })

  it('tells apart how long a ticket waited and how long it waited for the load', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { loadTime: 2000, warmUpTime: 0 }))
    world.request({ model: 'm', hold: 500 })
    world.run(1500)
    const late = world.request({ model: 'm', hold: 10 })
    world.run(5000)
    expect(late.granted).toMatchObject({ queueMs: 1000, loadMs: 500 })
  })

  it('a warm-up that fails takes the process away and tells the cause', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { warmUpTime: 60_000 }))
    const visitor = world.request({ model: 'm' })
    world.run(500)
    const error = { code: 'engine_failed', message: 'No token came.', details: {} } as const
    world.send({ type: 'warm-up-failed', instance: 'm#1', error, failure: 'crash', logTail: ['last words'] })
    expect(visitor.refusedWith).toMatchObject({ code: 'engine_failed', details: { logTail: ['last words'] } })
    expect(world.state.instances).toMatchObject([{ state: 'unloading' }])
    world.run(1000)
    expect(world.copies.size).toBe(0)
  })

  it('a process that dies while it loads is a failed load', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { warmUpTime: 60_000 }))
    const visitor = world.request({ model: 'm' })
    world.run(500)
    for (const copy of world.copies.values()) world.machine.crash(copy)
    expect(visitor.refusedWith).toMatchObject({ code: 'model_load_failed', details: { failure: 'crash' } })
  })

  it('a load that came through although it was cancelled is unloaded (F17)', () => {
    for (let seed = 0; seed < 20; seed++) {
      const world = newWorld({ seed })
      world.declare(sized('m', 40, { loadTime: 1000 }))
      const visitor = world.request({ model: 'm' })
      world.run(500)
      world.abort(visitor)
      world.run(5000)
      expect(world.copies.size).toBe(0)
      expect(world.state.instances).toEqual([])
    }
  })
})

describe('measurements (R4, M12)', () => {
  it('correct the next estimate of the same plan', () => {
    const world = newWorld()
    world.declare(sized('m', 60, { reality: 1.5, keepAlive: 0 }))
    world.request({ model: 'm', hold: 10 })
    world.run(1000)
    world.request({ model: 'm', hold: 10_000 })
    world.run(2000)
    expect(world.state.instances).toMatchObject([{ promise: { ram: 90 } }])
  })

  it('that show a model to be too large refuse the next load', () => {
    const world = newWorld()
    world.declare(sized('m', 60, { reality: 2, keepAlive: 0 }))
    world.request({ model: 'm', hold: 10 })
    world.run(1000)
    expect(world.request({ model: 'm' }).refusedWith).toMatchObject({
      code: 'model_too_large',
      details: { need: 120 },
    })
  })

  it('above the budget make idle ones go, as few as will do, and never a running one', () => {
    const world = newWorld()
    for (const [id, bytes] of [
      ['a', 30],
      ['b', 30],
      ['grower', 40],
    ] as const) {
      world.declare(sized(id, bytes, { keepAlive: -1 }))
      world.request({ model: id, hold: id === 'grower' ? 20_000 : 10 })
      world.run(world.now + 1000)
    }
    const grower = [...world.copies.values()].find(({ model }) => model.id === 'grower')
    if (grower !== undefined) world.machine.grow(grower, 1.5)
    world.run(world.now + 1000)
    expect(world.state.instances.map(({ model }) => model)).toEqual(['b', 'grower'])
    if (grower !== undefined) world.machine.grow(grower, 3)
    world.run(world.now + 1000)
    expect(world.state.instances.map(({ model }) => model)).toEqual(['grower'])
    expect(world.state.overBudget).toBe(true)
  })

  it('above the budget let nothing new start until there is room again', () => {
    const world = newWorld()
    world.declare(sized('grower', 40))
    world.declare(sized('other', 5))
    world.request({ model: 'grower', hold: 5000 })
    world.run(1000)
    for (const copy of world.copies.values()) world.machine.grow(copy, 3)
    const waiting = world.request({ model: 'other', hold: 10 })
    world.run(4000)
    expect(waiting.outcome).toBe('waiting')
    world.run(10_000)
    expect(waiting.outcome).toBe('done')
  })

  it('smaller limits make idle ones go', () => {
    const world = newWorld()
    for (const id of ['a', 'b']) {
      world.declare(sized(id, 40, { keepAlive: -1 }))
      world.request({ model: id, hold: 10 })
      world.run(world.now + 1000)
    }
    world.send({
      type: 'limits-changed',
      limits: { ...world.state.limits, memory: { ram: { budget: 50, absolute: 50 } } },
    })
    world.run(world.now + 1000)
    expect(world.state.instances.map(({ model }) => model)).toEqual(['b'])
  })
})
