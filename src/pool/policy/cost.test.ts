import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'
import { requestChain } from '../simulation/conversations.ts'
import { poolModelOf, type SimulatedModel } from '../simulation/simulated-model.ts'
import type { World } from '../simulation/world.ts'
import {
  askedLately,
  askedOnceMore,
  costOf,
  costSentence,
  lostContextTime,
  NEVER_ASKED,
  reloadTime,
} from './cost.ts'
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

  describe('with contexts in its slots', () => {
    const long = { promptTokens: 10_000, cachedTokens: 0, completionTokens: 1, prefill: 20_000 }
    const turn = (name: string): ReturnType<typeof requestChain> => requestChain(name, name, 0)

    function conversing(parking: 'off' | 'worth', more: Partial<SimulatedModel> = {}): World {
      const world = newWorld({ limits: { parking: { mode: parking } } })
      for (const id of ['full', 'empty'])
        world.declare(sized(id, 30, { keepAlive: -1, parks: true, ...more }))
      world.request({ model: 'empty', hold: 100 })
      world.request({ model: 'full', hold: 100, chain: turn('a'), usage: long })
      world.run(10_000)
      return world
    }

    it('counts the seconds they would take to compute again, so that of two the one with nothing in it goes', () => {
      const world = conversing('off')
      const full = ready(world, 'full')
      const step = newStep(world.state, full.usedAt, RULES)
      expect(lostContextTime(step, full, world.state.models.get('full'))).toBeCloseTo(20_000, -3)
      expect(costOf(step, full)).toBeGreaterThan(3 * costOf(step, ready(world, 'empty')))
      expect(costSentence(step, full)).toMatch(/to have it back and 20 s for its contexts, asked for once/)
      expect(costSentence(step, ready(world, 'empty'))).not.toContain('contexts')
    })

    it('counts only their reading where they are worth being parked', () => {
      const world = conversing('worth')
      const step = newStep(world.state, world.now, RULES)
      const time = lostContextTime(step, ready(world, 'full'), world.state.models.get('full'))
      expect(time).toBeGreaterThan(0)
      expect(time).toBeLessThan(1000)
    })

    it('counts a conversation half each 20 s in which it does not go on', () => {
      const world = conversing('off', { slots: 2 })
      const full = ready(world, 'full')
      const lostAt = (at: number): number =>
        lostContextTime(newStep(world.state, at, RULES), full, world.state.models.get('full'))
      expect(lostAt(full.usedAt + 20_000)).toBeCloseTo(lostAt(full.usedAt) / 2)
      expect(lostAt(full.usedAt + 10 * MINUTE)).toBeLessThan(1)
    })
  })
})

describe('what earlier servers learned (R7)', () => {
  it('counts from the first load on: the time of this plan, and the demand as it has aged', () => {
    const world = newWorld()
    const model = poolModelOf(sized('m', 50))
    world.run(MINUTE)
    const asked = { count: 8, at: world.now - 10 * MINUTE }
    world.send({ type: 'model-declared', model, learned: undefined, loadTime: 7777, asked })
    world.machine.models.set('m', sized('m', 50, { keepAlive: -1, loadTime: 1000 }))
    world.request({ model: 'm', hold: 0 })
    world.run(2 * MINUTE)
    const known = world.state.models.get('m')
    expect(known?.loadTime).toBeCloseTo(7777 * 0.7 + 1010 * 0.3, 0)
    expect(world.state.instances[0]?.asked.count).toBeCloseTo(5, 0)
  })

  it('is not taken where this server knows better', () => {
    const world = newWorld()
    world.declare(sized('m', 50, { keepAlive: -1 }))
    world.request({ model: 'm', hold: 0 })
    world.run(MINUTE)
    const before = world.state.models.get('m')
    const model = poolModelOf(sized('m', 50))
    const asked = { count: 100, at: world.now }
    world.send({ type: 'model-declared', model, learned: undefined, loadTime: 1, asked })
    expect(world.state.models.get('m')).toMatchObject({ loadTime: before?.loadTime, asked: before?.asked })
  })
})
