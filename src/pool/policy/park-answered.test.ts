import { describe, expect, it } from 'vitest'
import { requestChain } from '../simulation/conversations.ts'
import { newWorld, sized } from '../simulation/scenario.ts'
import type { SimulatedModel } from '../simulation/simulated-model.ts'
import type { World } from '../simulation/world.ts'
import type { ParkingLimits } from '../limits.ts'
import type { CommandOf } from './messages.ts'

interface Setting {
  world: World
  parked: CommandOf<'park-slot'>[]
}

function setting(parking: Partial<ParkingLimits>, model: Partial<SimulatedModel> = {}): Setting {
  const parked: CommandOf<'park-slot'>[] = []
  const world = newWorld({
    limits: { parking: { mode: 'worth', ...parking } },
    observe: ({ decision: { commands } }) =>
      parked.push(...commands.filter((command) => command.type === 'park-slot')),
  })
  world.machine.shelf.isReliable = true
  world.declare(sized('m', 10, { parks: true, keepAlive: -1, ...model }))
  return { world, parked }
}

function ask(world: World, conversation: string, turn = 0): void {
  world.request({ model: 'm', chain: requestChain(conversation, conversation, turn), hold: 100 })
  world.run(world.now + 1000)
}

describe('contexts after each answer (R16, durability)', () => {
  it('are written in the step in which the answer ends, and take the place of their earlier turns', () => {
    const { world, parked } = setting({ answersPerHour: 1_000_000 })
    for (const turn of [0, 1, 2]) ask(world, 'a', turn)
    expect(parked.map(({ order }) => order.context)).toEqual(['context-1', 'context-2', 'context-3'])
    expect(world.state.contexts.parked.map(({ id, writer }) => [id, writer])).toEqual([
      ['context-3', undefined],
    ])
  })

  it('are not unless it is asked for, nor below their worth, nor while somebody waits for the slot', () => {
    const off = setting({})
    ask(off.world, 'a')
    expect(off.parked).toEqual([])
    const small = setting({ answersPerHour: 1_000_000 })
    const usage = { promptTokens: 20, cachedTokens: 0, completionTokens: 2, prefill: 10 }
    small.world.request({ model: 'm', chain: requestChain('a', 'a', 0), hold: 100, usage })
    small.world.run(1000)
    expect(small.parked).toEqual([])
    const busy = setting({ answersPerHour: 1_000_000 })
    for (const name of ['a', 'b', 'c'])
      busy.world.request({ model: 'm', chain: requestChain(name, name, 0), hold: 100 })
    busy.world.run(2000)
    expect(busy.parked).toHaveLength(1)
  })

  it('never take more than so many bytes an hour, and go on in the next', () => {
    const { world, parked } = setting({ answersPerHour: 200_000 })
    for (let turn = 0; turn < 20; turn++) ask(world, `c${turn}`)
    const first = parked.length
    // A file of 750 tokens can take 64 KiB and some.
    expect(first).toBeGreaterThan(1)
    expect(first).toBeLessThanOrEqual(4)
    world.run(world.now + 3_700_000)
    for (let turn = 0; turn < 20; turn++) ask(world, `d${turn}`)
    expect(parked.length - first).toBe(first)
  })
})

describe('the quota of a model on disk (R16)', () => {
  it('holds at every moment, and its own cheapest make way, not those of others', () => {
    const { world } = setting({ mode: 'always' }, { contextBudget: 150_000 })
    world.declare(sized('n', 10, { parks: true, keepAlive: -1 }))
    for (const name of ['x', 'y']) {
      world.request({ model: 'n', chain: requestChain(name, name, 0), hold: 100 })
      world.run(world.now + 1000)
    }
    const others = world.state.contexts.parked.filter(({ model }) => model === 'n')
    expect(others).toHaveLength(1)
    for (let turn = 0; turn < 8; turn++) ask(world, `c${turn}`, turn % 3)
    const own = world.state.contexts.parked.filter(({ model }) => model === 'm')
    expect(own.length).toBeGreaterThan(0)
    expect(own.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(150_000)
    expect(world.state.contexts.parked.filter(({ model }) => model === 'n')).toEqual(others)
  })

  it('that became smaller is kept as well', () => {
    const { world } = setting({ mode: 'always' })
    for (let turn = 0; turn < 4; turn++) ask(world, `c${turn}`, 2)
    world.declare(sized('m', 10, { parks: true, keepAlive: -1, contextBudget: 0 }))
    expect(world.state.contexts.parked).toEqual([])
  })
})
