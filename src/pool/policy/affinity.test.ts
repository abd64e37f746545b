import { describe, expect, it } from 'vitest'
import { answeredChain, requestChain } from '../simulation/conversations.ts'
import { newWorld, sized } from '../simulation/scenario.ts'
import type { VisitRequest, Visitor } from '../simulation/visitor.ts'
import type { World } from '../simulation/world.ts'

const first = requestChain('s', 'first', 0)
const second = requestChain('s', 'second', 0)

/** Sends a request and waits until it is answered. */
function visit(world: World, request: Partial<VisitRequest>): Visitor {
  const visitor = world.request({ model: 'm', hold: 100, ...request })
  world.run(world.now + 1000)
  return visitor
}

function withSlots(slots: number): World {
  const world = newWorld()
  world.declare(sized('m', 10, { slots, keepAlive: -1 }))
  return world
}

describe('the choice of a slot (R3, P5)', () => {
  it('gives a conversation its own slot again, with all that is in it', () => {
    const world = withSlots(2)
    const opening = visit(world, { chain: first })
    visit(world, { chain: second })
    const next = visit(world, { chain: requestChain('s', 'first', 1) })
    expect(next.granted?.slot).toBe(opening.granted?.slot)
    expect(next.granted?.keptPrefix).toBe(answeredChain(first).length)
    expect(next.granted?.reason).toBe('slot 0 of m#1 holds this conversation: 3 of 4 blocks are shared')
  })

  it('takes a conversation up again at an earlier point in the slot that holds more of it', () => {
    const world = withSlots(2)
    visit(world, { chain: requestChain('s', 'first', 2) })
    const again = visit(world, { chain: requestChain('s', 'first', 1) })
    expect(again.granted?.slot).toBe(0)
    expect(again.granted?.keptPrefix).toBe(4)
  })

  it('gives two that share only a beginning different slots while one is empty', () => {
    const world = withSlots(2)
    const one = visit(world, { chain: first })
    const two = visit(world, { chain: second })
    expect(two.granted?.slot).not.toBe(one.granted?.slot)
    expect(two.granted?.keptPrefix).toBe(0)
    expect(two.granted?.reason).toBe('slot 1 of m#1 is empty')
  })

  it('never takes the slot of a long conversation for a one-off while a short one is there, until nobody has asked for it in hours', () => {
    const world = withSlots(2)
    visit(world, { chain: requestChain('x', 'long', 5) })
    visit(world, { chain: requestChain('y', 'short', 0) })
    for (const name of ['a', 'b', 'c'])
      expect(visit(world, { chain: requestChain(name, 'once', 0) }).granted?.slot).toBe(1)
    expect(visit(world, { chain: requestChain('x', 'long', 6) }).granted).toMatchObject({
      slot: 0,
      keptPrefix: 13,
    })
    world.run(world.now + 6 * 3_600_000)
    visit(world, { chain: requestChain('y', 'short', 0) })
    expect(visit(world, { chain: requestChain('d', 'once', 0) }).granted?.slot).toBe(0)
  })

  it('takes the least recently used of slots that share nothing, and clears it', () => {
    const world = withSlots(2)
    visit(world, { chain: requestChain('x', 'a', 0) })
    visit(world, { chain: requestChain('y', 'b', 0) })
    visit(world, { chain: requestChain('x', 'a', 1) })
    const stranger = visit(world, { chain: requestChain('z', 'c', 0) })
    expect(stranger.granted?.slot).toBe(1)
    expect(stranger.granted?.keptPrefix).toBe(0)
  })

  it('prefers a longer shared beginning to the order of use when it is worth it', () => {
    const world = withSlots(2)
    const long = Array.from({ length: 6 }, (_, index) => ({ hash: `l${index}`, end: (index + 1) * 1000 }))
    visit(world, { chain: requestChain('x', 'a', 0) })
    visit(world, { chain: [...long, { hash: 'one', end: 7000 }], manner: 'answers' })
    visit(world, { chain: requestChain('x', 'a', 1) })
    const sharing = visit(world, { chain: [...long, { hash: 'two', end: 7000 }] })
    expect(sharing.granted?.slot).toBe(1)
    expect(sharing.granted?.keptPrefix).toBe(6)
  })

  it('keeps only the shared beginning of a slot that holds something else (F1)', () => {
    const world = withSlots(1)
    visit(world, { chain: first })
    const other = visit(world, { chain: second })
    expect(other.granted?.keptPrefix).toBe(1)
  })

  it('believes nothing of a slot whose run failed (F11)', () => {
    const world = withSlots(1)
    visit(world, { chain: first, manner: 'fails' })
    expect(visit(world, { chain: requestChain('s', 'first', 1) }).granted?.keptPrefix).toBe(0)
  })

  it('remembers what a slot holds when the lease went back without a run', () => {
    const world = withSlots(1)
    visit(world, { chain: first })
    visit(world, { chain: second, manner: 'leaves' })
    expect(visit(world, { chain: requestChain('s', 'first', 1) }).granted?.keptPrefix).toBe(3)
  })

  it('does not wait for its own slot when another is free', () => {
    const world = withSlots(2)
    visit(world, { chain: first })
    const running = world.request({ model: 'm', chain: requestChain('s', 'first', 1), hold: 5000 })
    const beside = world.request({ model: 'm', chain: requestChain('s', 'first', 1), hold: 10 })
    expect(running.granted?.slot).toBe(0)
    expect(beside.granted?.slot).toBe(1)
    expect(beside.granted?.keptPrefix).toBe(0)
  })
})
