import { describe, expect, it } from 'vitest'
import { requestChain } from '../simulation/conversations.ts'
import { newWorld, sized } from '../simulation/scenario.ts'
import { waitSentence } from './wait.ts'

describe('the way to a slot (R2, R3, P4)', () => {
  it('serves in order of arrival', () => {
    const world = newWorld()
    world.declare(sized('m', 10))
    const visitors = Array.from({ length: 5 }, () => world.request({ model: 'm', hold: 100 }))
    world.run(10_000)
    const granted = visitors.map(({ grantedAt }) => grantedAt ?? -1)
    expect(granted).toEqual(granted.toSorted((a, b) => a - b))
    expect(new Set(granted).size).toBe(5)
  })

  it('serves a higher class first, within a class in order of arrival', () => {
    const world = newWorld()
    world.declare(sized('m', 10))
    world.request({ model: 'm', hold: 1000 })
    world.run(500)
    const late = world.request({ model: 'm', priority: 'background', hold: 10 })
    const usual = world.request({ model: 'm', hold: 10 })
    const urgent = world.request({ model: 'm', priority: 'interactive', hold: 10 })
    world.run(5000)
    const order = [urgent, usual, late].map(({ grantedAt }) => grantedAt ?? -1)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(Math.min(...order)).toBeGreaterThan(0)
  })

  it('lets a ticket that has waited 30 s rise a class, so that none starves (R20)', () => {
    const world = newWorld()
    world.declare(sized('m', 10, { slots: 1 }))
    const low = { at: 0, visitor: world.request({ model: 'm', priority: 'background', hold: 10 }) }
    world.request({ model: 'm', priority: 'interactive', hold: 900 })
    for (let second = 0; second < 100; second++) {
      world.request({ model: 'm', priority: 'interactive', hold: 1500 })
      world.run(world.now + 1000)
    }
    expect(low.visitor.grantedAt).toBeLessThan(65_000)
  })

  it('holds the limit of runs over all models (F2)', () => {
    let most = 0
    const world = newWorld({
      limits: { concurrency: 3 },
      observe: ({ decision }) => (most = Math.max(most, decision.state.runs)),
    })
    for (const id of ['a', 'b']) world.declare(sized(id, 10, { slots: 4 }))
    const visitors = Array.from({ length: 12 }, (_, index) =>
      world.request({ model: index % 2 === 0 ? 'a' : 'b', hold: 200 }),
    )
    world.run(10_000)
    expect(most).toBe(3)
    expect(visitors.every(({ outcome }) => outcome === 'done')).toBe(true)
  })

  it('says what limits it', () => {
    const world = newWorld({ limits: { concurrency: 1 } })
    world.declare(sized('a', 10, { slots: 4 }))
    world.request({ model: 'a', hold: 5000 })
    world.run(1000)
    world.request({ model: 'a' })
    const wait = world.state.waits.get('a')
    expect(wait === undefined ? '' : waitSentence(wait, world.now)).toBe('1 of at most 1 runs are active')
  })

  it('loads a further copy rather than drop a context, when memory is free (R3 c before d)', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { maxInstances: 2 }))
    world.request({ model: 'm', chain: requestChain('s', 'one', 0), hold: 10 })
    world.run(1000)
    const other = world.request({ model: 'm', chain: requestChain('s', 'two', 0), hold: 10 })
    expect(other.outcome).toBe('waiting')
    world.run(2000)
    expect(other.granted?.instance).toBe('m#2')
    expect(other.granted?.keptPrefix).toBe(0)
  })

  it('drops the least recently used context when there is no room for a further copy (R3 d)', () => {
    const world = newWorld()
    world.declare(sized('m', 60, { maxInstances: 2 }))
    world.request({ model: 'm', chain: requestChain('s', 'one', 0), hold: 10 })
    world.run(1000)
    const other = world.request({ model: 'm', chain: requestChain('s', 'two', 0), hold: 10 })
    expect(other.granted?.instance).toBe('m#1')
  })

  it('never evicts another model for a further copy (R3 e before f)', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { maxInstances: 2 }))
    world.declare(sized('other', 40))
    world.request({ model: 'other', hold: 10 })
    world.request({ model: 'm', hold: 5000 })
    world.run(1000)
    const waiting = world.request({ model: 'm', hold: 10 })
    world.run(3000)
    expect(waiting.outcome).toBe('waiting')
    expect(world.state.instances.map(({ id }) => id).toSorted()).toEqual(['m#2', 'other#1'])
  })

  it('loads as many copies as the waiting tickets need and may have, no more (F12)', () => {
    const world = newWorld()
    world.declare(sized('m', 10, { slots: 2, maxInstances: 5 }))
    for (let index = 0; index < 5; index++) world.request({ model: 'm', hold: 3000 })
    world.run(1000)
    expect(world.state.instances.length).toBe(3)
    world.run(60_000)
    expect(world.state.instances.length).toBe(3)
  })

  it('takes what is free now or nothing when asked not to wait', () => {
    const world = newWorld()
    world.declare(sized('m', 10))
    const early = world.request({ model: 'm', immediate: true })
    expect(early.refusedWith?.code).toBe('queue_full')
    expect(world.state.instances).toEqual([])
    world.request({ model: 'm', hold: 10 })
    world.run(1000)
    expect(world.request({ model: 'm', immediate: true }).outcome).toBe('granted')
    expect(world.request({ model: 'm', immediate: true }).outcome).toBe('refused')
  })
})
