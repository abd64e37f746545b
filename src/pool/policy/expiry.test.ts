import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'

const isLoaded = (world: ReturnType<typeof newWorld>): boolean =>
  world.state.instances.some(({ state }) => state === 'ready')

describe('idleness (R13, BR-21)', () => {
  it('is counted from the end of the last run, not from its start', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { keepAlive: 2000, loadTime: 90 }))
    world.request({ model: 'm', hold: 5000 })
    world.run(7000)
    expect(isLoaded(world)).toBe(true)
    world.run(7099)
    expect(isLoaded(world)).toBe(true)
    world.run(7200)
    expect(isLoaded(world)).toBe(false)
  })

  it('begins with the last of several that overlap', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { keepAlive: 2000, slots: 2, loadTime: 90 }))
    world.request({ model: 'm', hold: 1000 })
    world.request({ model: 'm', hold: 4000 })
    world.run(6000)
    expect(isLoaded(world)).toBe(true)
    world.run(6200)
    expect(isLoaded(world)).toBe(false)
  })

  it('does not interrupt a load', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { keepAlive: 2000, loadTime: 4000 }))
    const visitor = world.request({ model: 'm', hold: 10 })
    world.run(10_000)
    expect(visitor.outcome).toBe('done')
  })

  it('of 0 unloads at the release, of −1 never', () => {
    const world = newWorld()
    world.declare(sized('zero', 40, { keepAlive: 0 }))
    world.declare(sized('never', 40, { keepAlive: -1 }))
    world.request({ model: 'zero', hold: 100 })
    world.request({ model: 'never', hold: 100 })
    world.run(1000)
    expect(world.state.instances.map(({ model }) => model)).toEqual(['never'])
    world.run(100_000_000)
    expect(world.state.instances.map(({ model }) => model)).toEqual(['never'])
  })

  it('of 0 keeps the instance for those who wait already', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { keepAlive: 0 }))
    const visitors = [1, 2, 3].map(() => world.request({ model: 'm', hold: 100 }))
    world.run(5000)
    expect(visitors.every(({ outcome }) => outcome === 'done')).toBe(true)
    expect(world.state.loads).toBe(1)
  })

  it('can be set by a request, from its release on', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { keepAlive: 60_000 }))
    world.request({ model: 'm', hold: 100, keepAlive: 500 })
    world.run(700)
    expect(isLoaded(world)).toBe(true)
    world.run(2000)
    expect(isLoaded(world)).toBe(false)
  })

  it('does not take a fresh instance for a stale one (F13)', () => {
    const world = newWorld({ limits: { minimumResidency: 1000 } })
    world.declare(sized('m', 40, { keepAlive: 0, loadTime: 5000 }))
    world.request({ model: 'm', wants: 'instance' })
    world.run(5500)
    expect(isLoaded(world)).toBe(true)
    world.run(7000)
    expect(isLoaded(world)).toBe(false)
  })

  it('leaves pinned models alone, the minimum too, and counts in one step (F13, M13)', () => {
    const world = newWorld()
    world.declare(sized('pinned', 20, { keepAlive: 0, pinned: true }))
    world.declare(sized('soft', 20, { keepAlive: 0, pinned: 'soft' }))
    world.declare(sized('m', 10, { keepAlive: 1000, minInstances: 1, maxInstances: 3 }))
    world.request({ model: 'pinned', hold: 10 })
    world.request({ model: 'soft', hold: 10 })
    for (let index = 0; index < 3; index++) world.request({ model: 'm', hold: 2000 })
    world.run(2000)
    expect(world.state.instances.length).toBe(5)
    world.run(60_000)
    expect(world.state.instances.map(({ model }) => model).toSorted()).toEqual(['m', 'pinned', 'soft'])
  })

  it('survives a sleep of hours without a mass unload of what is in use (M21)', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { keepAlive: 1000 }))
    const visitor = world.request({ model: 'm', hold: 10 * 3_600_000 })
    world.run(8 * 3_600_000)
    expect(visitor.outcome).toBe('granted')
    expect(isLoaded(world)).toBe(true)
  })

  it('follows a model that is declared anew', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { keepAlive: -1 }))
    world.request({ model: 'm', hold: 10 })
    world.run(1000)
    world.declare(sized('m', 40, { keepAlive: 2000 }))
    world.run(5000)
    expect(isLoaded(world)).toBe(false)
  })
})

describe('an operator’s load of what is loaded already', () => {
  it('starts the time until the unload anew, as long as the operator says', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { keepAlive: 3000 }))
    world.request({ model: 'm', hold: 10 })
    world.run(2000)
    const load = world.request({ model: 'm', wants: 'instance', keepAlive: 10_000 })
    expect(load.outcome).toBe('done')
    world.run(11_000)
    expect(isLoaded(world)).toBe(true)
    world.run(13_000)
    expect(isLoaded(world)).toBe(false)
  })
})
