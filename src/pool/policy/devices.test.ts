import { describe, expect, it } from 'vitest'
import type { Footprint, FootprintTerms } from '../../host/memory.ts'
import { newWorld, sized } from '../simulation/scenario.ts'
import type { SimulatedModel } from '../simulation/simulated-model.ts'
import type { World } from '../simulation/world.ts'

const terms = (weights: number): FootprintTerms => ({ weights, context: 0, compute: 0, base: 0 })

/** A model with so many bytes on each device. */
function on(
  id: string,
  devices: Record<`gpu:${number}`, number>,
  more: Partial<SimulatedModel> = {},
): SimulatedModel {
  const footprint: Footprint = { ram: terms(1) }
  for (const [device, bytes] of Object.entries(devices)) footprint[device as 'gpu:0'] = terms(bytes)
  return sized(id, 1, { keepAlive: -1, footprint, ...more })
}

/** Two devices of 100 bytes. */
function twoDevices(exclusiveDevices = false): World {
  const device = { budget: 100, absolute: 100 }
  return newWorld({
    limits: {
      memory: { ram: { budget: 100, absolute: 100 }, 'gpu:0': device, 'gpu:1': device },
      exclusiveDevices,
    },
    host: { ram: 1000, 'gpu:0': 100, 'gpu:1': 100 },
  })
}

function use(world: World, model: string): ReturnType<World['request']> {
  const visitor = world.request({ model, hold: 100 })
  world.run(world.now + 30_000)
  return visitor
}

const resident = (world: World): string[] => world.state.instances.map(({ model }) => model)

describe('several devices (R4, R14)', () => {
  it('each has its own budget: who wants the one evicts nobody of the other', () => {
    const world = twoDevices()
    for (const model of [on('a', { 'gpu:0': 80 }), on('b', { 'gpu:1': 80 }), on('c', { 'gpu:1': 60 })])
      world.declare(model)
    for (const model of ['a', 'b', 'c']) expect(use(world, model).granted).toBeDefined()
    expect(resident(world)).toEqual(['a', 'c'])
  })

  it('a model on both is charged on both', () => {
    const world = twoDevices()
    world.declare(on('wide', { 'gpu:0': 60, 'gpu:1': 60 }))
    world.declare(on('a', { 'gpu:1': 50 }))
    use(world, 'wide')
    use(world, 'a')
    expect(resident(world)).toEqual(['a'])
  })
})

describe('P8, F6: one owner for each device (gpu.exclusive)', () => {
  it('whoever wants it next has it handed over when the owner is idle, however much memory is free', () => {
    const world = twoDevices(true)
    for (const model of [on('a', { 'gpu:0': 10 }), on('b', { 'gpu:0': 10 }), on('c', { 'gpu:1': 10 })])
      world.declare(model)
    for (const model of ['a', 'c', 'b']) expect(use(world, model).granted).toBeDefined()
    expect(resident(world)).toEqual(['c', 'b'])
  })

  it('is waited for while the owner answers, and nobody of another device or of memory waits with it', () => {
    const world = twoDevices(true)
    for (const model of [
      on('a', { 'gpu:0': 10 }),
      on('b', { 'gpu:0': 10 }),
      on('c', { 'gpu:1': 10 }),
      sized('d', 5),
    ])
      world.declare(model)
    world.request({ model: 'a', hold: 20_000 })
    world.run(5000)
    const waiting = world.request({ model: 'b', hold: 0 })
    const others = ['c', 'd'].map((model) => world.request({ model, hold: 0 }))
    world.run(10_000)
    expect([waiting.granted, ...others.map(({ granted }) => granted !== undefined)]).toEqual([
      undefined,
      true,
      true,
    ])
    world.run(60_000)
    expect(waiting.granted).toBeDefined()
  })

  it.each(['a load that fails', 'a worker that dies'])(
    '%s gives it back: the owner is who is alive',
    (what) => {
      const world = twoDevices(true)
      world.declare(on('a', { 'gpu:0': 10 }, { failing: what === 'a load that fails' ? 1 : 0 }))
      world.declare(on('b', { 'gpu:0': 10 }))
      const first = use(world, 'a')
      for (const copy of world.copies.values()) world.machine.crash(copy)
      world.run(world.now + 5000)
      expect(first.outcome).toBe(what === 'a load that fails' ? 'refused' : 'done')
      expect(resident(world)).toEqual([])
      expect(use(world, 'b').granted).toBeDefined()
    },
  )

  it('that is pinned is refused at once to others, with who has it', () => {
    const world = twoDevices(true)
    world.declare(on('a', { 'gpu:0': 10 }, { pinned: true }))
    world.declare(on('b', { 'gpu:0': 10 }))
    use(world, 'a')
    const refused = use(world, 'b')
    expect(refused.refusedWith).toMatchObject({
      code: 'model_too_large',
      message: expect.stringContaining('gpu:0, which belongs to a#1 alone (gpu.exclusive)') as string,
    })
  })

  it('without it two share the device as far as their bytes go', () => {
    const world = twoDevices()
    for (const model of [on('a', { 'gpu:0': 10 }), on('b', { 'gpu:0': 10 })]) world.declare(model)
    for (const model of ['a', 'b']) use(world, model)
    expect(resident(world)).toEqual(['a', 'b'])
  })
})
