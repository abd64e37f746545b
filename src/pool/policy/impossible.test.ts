import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'
import type { SimulatedModel } from '../simulation/simulated-model.ts'

const withContext: SimulatedModel = {
  id: 'long',
  footprint: { ram: { weights: 40, context: 160, compute: 5, base: 5 } },
  contextSize: 16_384,
}

describe('what can never fit is refused at once (R6, M5)', () => {
  it('with need, limit and the largest context that would fit', () => {
    const world = newWorld()
    world.declare(withContext)
    const visitor = world.request({ model: 'long' })
    expect(visitor.refusedWith).toMatchObject({
      code: 'model_too_large',
      details: {
        need: 210,
        limit: 100,
        pinned: [],
        largestContext: 5120,
        contextSize: 16_384,
        domain: 'ram',
      },
    })
    expect(visitor.refusedWith?.message).toBe(
      '"long" needs 210 B of ram, the limit is 100 B. The largest context that fits is 5120 (asked: 16384).',
    )
  })

  it('such a context really fits, and the next larger does not', () => {
    const needs = (context: number): number => 50 + (160 * context) / 16_384
    expect(needs(5120)).toBeLessThanOrEqual(100)
    expect(needs(5120 + 256)).toBeGreaterThan(100)
  })

  it('without a context when not even the weights fit', () => {
    const world = newWorld()
    world.declare(sized('huge', 101))
    expect(world.request({ model: 'huge' }).refusedWith?.details).toMatchObject({ largestContext: null })
  })

  it('and nobody is evicted for it (BR-30)', () => {
    const world = newWorld()
    world.declare(sized('small', 20, { keepAlive: -1 }))
    world.declare(sized('huge', 150))
    world.request({ model: 'small', hold: 10 })
    world.run(1000)
    expect(world.request({ model: 'huge' }).refusedWith?.code).toBe('model_too_large')
    world.run(5000)
    expect(world.state.instances.map(({ model }) => model)).toEqual(['small'])
  })

  it('names who is pinned (BR-31, BR-68)', () => {
    const world = newWorld()
    world.declare(sized('embedder', 30, { pinned: true }))
    world.declare(sized('chat', 80))
    world.request({ model: 'embedder', hold: 10 })
    world.run(1000)
    const { refusedWith } = world.request({ model: 'chat' })
    expect(refusedWith?.details).toMatchObject({ pinned: [{ instance: 'embedder#1', bytes: 30 }], need: 80 })
    expect(refusedWith?.message).toContain('30 B are held for good by pinned embedder#1')
  })

  it('is possible again when the pin is taken off', () => {
    const world = newWorld()
    world.declare(sized('embedder', 30, { pinned: true }))
    world.declare(sized('chat', 80))
    world.request({ model: 'embedder', hold: 10 })
    world.run(1000)
    world.declare(sized('embedder', 30, { pinned: false }))
    const visitor = world.request({ model: 'chat', hold: 10 })
    world.run(3000)
    expect(visitor.outcome).toBe('done')
  })

  it('when all places of large models are pinned', () => {
    const world = newWorld({ limits: { maxLargeModels: 1 } })
    world.declare(sized('a', 30, { pinned: true }))
    world.declare(sized('b', 30))
    world.request({ model: 'a', hold: 10 })
    world.run(1000)
    expect(world.request({ model: 'b' }).refusedWith).toMatchObject({
      code: 'model_too_large',
      details: { limit: 1, pinned: ['a'] },
    })
  })

  it('counts copies that minInstances keeps as held for good', () => {
    const world = newWorld()
    world.declare(sized('kept', 30, { minInstances: 1 }))
    world.declare(sized('chat', 80))
    world.run(1000)
    expect(world.request({ model: 'chat' }).refusedWith?.code).toBe('model_too_large')
  })
})
