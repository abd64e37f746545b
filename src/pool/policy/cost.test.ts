import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'
import type { World } from '../simulation/world.ts'
import { askedLately, askedOnceMore, costOf, NEVER_ASKED, reloadTime } from './cost.ts'
import { RULES } from './rules.ts'
import { newStep } from './step.ts'
import type { Instance } from './state.ts'

const MINUTE = 60_000
const GIB = 1024 ** 3

describe('recent demand (R7)', () => {
  it('counts requests, and those of ten minutes ago half', () => {
    const once = askedOnceMore({ rules: RULES, at: 0 }, NEVER_ASKED)
    const twice = askedOnceMore({ rules: RULES, at: 10 * MINUTE }, once)
    expect(twice.count).toBeCloseTo(1.5)
    expect(askedLately(twice, 20 * MINUTE)).toBeCloseTo(0.75)
    expect(askedLately(NEVER_ASKED, 20 * MINUTE)).toBe(0)
  })
})

describe('the cost of losing an instance (R7)', () => {
  const ready = (world: World, model: string): Instance =>
    world.state.instances.find((instance) => instance.model === model) as Instance

  function loaded(): World {
    const world = newWorld({
      limits: { memory: { ram: { budget: 10 * GIB, absolute: 10 * GIB } } },
      host: { ram: 20 * GIB },
    })
    for (const [id, loadTime] of [
      ['quick', 1000],
      ['slow', 9000],
    ] as const) {
      world.declare(sized(id, GIB, { keepAlive: -1, loadTime }))
      world.request({ model: id, hold: 0 })
    }
    world.run(10_000)
    return world
  }

  const cost = (world: World, model: string): number =>
    costOf(newStep(world.state, world.now, RULES), ready(world, model))

  it('grows with what its loads took, and falls with the time nobody used it', () => {
    const world = loaded()
    expect(cost(world, 'slow')).toBeGreaterThan(2 * cost(world, 'quick'))
    const before = cost(world, 'slow')
    world.run(30 * MINUTE)
    expect(cost(world, 'slow')).toBeLessThan(before / 10)
  })

  it('takes loads of less than four seconds for equally short, so that chance does not choose the victim', () => {
    const world = newWorld()
    for (const [id, loadTime] of [
      ['first', 3000],
      ['second', 500],
    ] as const) {
      world.declare(sized(id, 50, { keepAlive: -1, loadTime }))
      world.request({ model: id, hold: 0 })
      world.run(world.now + 5000)
    }
    expect(cost(world, 'first')).toBeLessThan(cost(world, 'second'))
  })

  it('takes the measured time of loads, the last ones most, and one by the size where none was measured', () => {
    const world = loaded()
    const model = world.state.models.get('slow')
    expect(reloadTime(ready(world, 'slow'), model)).toBe(9010)
    expect(reloadTime(ready(world, 'slow'), undefined)).toBeCloseTo(1000 + GIB / 500_000)
    world.unload('slow')
    world.machine.models.set('slow', sized('slow', GIB, { loadTime: 1000 }))
    world.run(world.now + 1000)
    world.request({ model: 'slow', hold: 0 })
    world.run(world.now + 5000)
    expect(reloadTime(ready(world, 'slow'), world.state.models.get('slow'))).toBeCloseTo(
      9010 * 0.7 + 1010 * 0.3,
    )
  })

  it('does not take the time of another plan of the model', () => {
    const world = loaded()
    const old = ready(world, 'slow')
    world.declare(sized('slow', 2 * GIB, { revision: 1 }))
    expect(world.state.models.get('slow')?.loadTime).toBeUndefined()
    expect(reloadTime(old, world.state.models.get('slow'))).toBeCloseTo(1000 + GIB / 500_000)
  })
})
