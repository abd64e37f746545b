import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'

describe('a model declared with another plan', () => {
  it('lets running leases end on the old copy, serves new tickets with the new plan', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { revision: 1, slots: 2 }))
    const running = world.request({ model: 'm', hold: 3000 })
    world.run(1000)
    world.declare(sized('m', 50, { revision: 2, slots: 2 }))
    const next = world.request({ model: 'm', hold: 10 })
    expect(world.state.instances[0]?.state).toBe('draining')
    expect(next.outcome).toBe('waiting')
    world.run(2000)
    expect(next.granted?.instance).toBe('m#2')
    expect(running.outcome).toBe('granted')
    world.run(5000)
    expect(running.outcome).toBe('done')
    expect(world.state.instances.map(({ id }) => id)).toEqual(['m#2'])
  })

  it('lets the old copy go first when both do not fit', () => {
    const world = newWorld()
    world.declare(sized('m', 60, { revision: 1 }))
    world.request({ model: 'm', hold: 3000 })
    world.run(1000)
    world.declare(sized('m', 70, { revision: 2 }))
    const next = world.request({ model: 'm', hold: 10 })
    world.run(10_000)
    expect(next.granted?.instance).toBe('m#2')
  })

  it('is not loaded anew when only its pin or keepAlive changes (M20)', () => {
    const world = newWorld()
    world.declare(sized('m', 40))
    world.request({ model: 'm', hold: 10 })
    world.run(1000)
    world.declare(sized('m', 40, { pinned: true, keepAlive: 1 }))
    world.run(100_000)
    expect(world.state.instances).toMatchObject([{ id: 'm#1', state: 'ready' }])
  })
})

describe('a model that is withdrawn', () => {
  it('answers who waits with model_not_found, lets runs end, and leaves nothing', () => {
    const world = newWorld()
    world.declare(sized('m', 40))
    const running = world.request({ model: 'm', hold: 3000 })
    world.run(1000)
    const waiting = world.request({ model: 'm' })
    world.withdraw('m')
    expect(waiting.refusedWith?.code).toBe('model_not_found')
    expect(world.request({ model: 'm' }).refusedWith?.code).toBe('model_not_found')
    world.run(10_000)
    expect(running.outcome).toBe('done')
    expect(world.state.instances).toEqual([])
  })
})

describe('an operator’s unload', () => {
  it('lets runs end within drainTimeout, then cuts them with a clear error (R7)', () => {
    const cut: string[] = []
    const world = newWorld({
      limits: { drainTimeout: 2000 },
      observe: ({ decision }) => {
        for (const command of decision.commands)
          if (command.type === 'cut-lease') cut.push(command.error.code)
      },
    })
    world.declare(sized('m', 40, { slots: 2 }))
    const [short, long] = [500, 60_000].map((hold) => world.request({ model: 'm', hold }))
    world.run(500)
    world.unload('m')
    world.run(2000)
    expect([short?.outcome, long?.outcome]).toEqual(['done', 'granted'])
    world.run(3000)
    expect(long?.outcome).toBe('cut')
    expect(cut).toEqual(['run_cut'])
    expect(world.state.instances).toEqual([])
  })

  it('cuts at once with force', () => {
    const world = newWorld()
    world.declare(sized('m', 40))
    const running = world.request({ model: 'm', hold: 60_000 })
    world.run(500)
    world.unload('m', true)
    expect(running.outcome).toBe('cut')
    world.run(1000)
    expect(world.state.instances).toEqual([])
  })

  it('of a model that is not loaded does nothing', () => {
    const world = newWorld()
    world.declare(sized('m', 40))
    world.unload('m')
    expect(world.state.instances).toEqual([])
  })

  it('removes the instance meant and no other of the model (F18)', () => {
    const world = newWorld()
    world.declare(sized('m', 20, { maxInstances: 2 }))
    for (let index = 0; index < 2; index++) world.request({ model: 'm', hold: 1000 })
    world.run(3000)
    world.send({ type: 'unload-requested', model: undefined, instance: 'm#2', force: false })
    world.run(4000)
    expect(world.state.instances.map(({ id }) => id)).toEqual(['m#1'])
  })
})

describe('a stop (P12)', () => {
  it('answers everybody who waits, cancels loads, lets runs end until the deadline and then cuts them', () => {
    const world = newWorld()
    world.declare(sized('m', 20))
    world.declare(sized('slow', 20, { loadTime: 60_000 }))
    const running = world.request({ model: 'm', hold: 60_000 })
    const waiting = world.request({ model: 'm' })
    const loading = world.request({ model: 'slow' })
    world.run(1000)
    world.send({ type: 'stop-requested', deadline: 3000 })
    expect([waiting.refusedWith?.code, loading.refusedWith?.code]).toEqual(['shutting_down', 'shutting_down'])
    expect(world.request({ model: 'm' }).refusedWith?.code).toBe('shutting_down')
    world.run(3900)
    expect(running.outcome).toBe('granted')
    world.run(4100)
    expect(running.outcome).toBe('cut')
    world.run(70_000)
    expect(world.state.instances).toEqual([])
    expect(world.copies.size).toBe(0)
  })

  it('twice is harmless, and the second can only be sooner', () => {
    const world = newWorld()
    world.declare(sized('m', 20))
    const running = world.request({ model: 'm', hold: 60_000 })
    world.run(1000)
    world.send({ type: 'stop-requested', deadline: 3000 })
    world.send({ type: 'stop-requested', deadline: 100_000 })
    world.run(2000)
    world.send({ type: 'stop-requested', deadline: 0 })
    world.run(2001)
    expect(running.outcome).toBe('cut')
  })

  it('does not restore a minimum', () => {
    const world = newWorld()
    world.declare(sized('m', 20, { minInstances: 1 }))
    world.run(1000)
    world.send({ type: 'stop-requested', deadline: 0 })
    world.run(100_000)
    expect(world.state.instances).toEqual([])
  })
})
