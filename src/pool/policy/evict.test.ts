import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'
import type { World } from '../simulation/world.ts'
import { chooseVictims } from './evict.ts'
import type { Instance } from './state.ts'

/** Loads models of these sizes one after the other; the first is the least recently used. */
function loaded(sizes: Record<string, number>, more: Parameters<typeof sized>[2] = {}): World {
  const world = newWorld()
  for (const [id, bytes] of Object.entries(sizes)) {
    world.declare(sized(id, bytes, { keepAlive: -1, ...more }))
    world.request({ model: id, hold: 10 })
    world.run(world.now + 1000)
  }
  return world
}

const residents = (world: World): string[] => world.state.instances.map(({ model }) => model).toSorted()

function swapIn(world: World, bytes: number): void {
  world.declare(sized('newcomer', bytes))
  world.request({ model: 'newcomer', hold: 10 })
  world.run(world.now + 5000)
}

describe('victims (R7)', () => {
  it('are the least recently used', () => {
    const world = loaded({ a: 30, b: 30, c: 30 })
    world.request({ model: 'a', hold: 10 })
    world.run(world.now + 100)
    swapIn(world, 30)
    expect(residents(world)).toEqual(['a', 'c', 'newcomer'])
  })

  it('are so even when the least recently used one was loaded a moment ago: it is waited for until it may go', () => {
    const world = newWorld({ limits: { minimumResidency: 2000 } })
    for (const id of ['a', 'b']) {
      world.declare(sized(id, 50, { keepAlive: -1, loadTime: 2000 }))
      world.request({ model: id, hold: 10 })
      world.run(world.now + 2600)
    }
    world.request({ model: 'a', hold: 10 })
    world.run(world.now + 600)
    const readyAt = world.state.instances.find(({ model }) => model === 'b')?.readyAt ?? 0
    world.declare(sized('newcomer', 50))
    world.request({ model: 'newcomer', hold: 10 })
    world.run(readyAt + 1990)
    expect(residents(world)).toEqual(['a', 'b'])
    world.run(readyAt + 2500)
    expect(residents(world)).toEqual(['a', 'newcomer'])
  })

  it('are as few as will do: one large one rather than two small ones', () => {
    const world = loaded({ a: 30, b: 30, c: 40 })
    swapIn(world, 40)
    expect(residents(world)).toEqual(['a', 'b', 'newcomer'])
  })

  it('are no more than needed (BR-30)', () => {
    const world = loaded({ a: 20, b: 20, c: 20, d: 20 })
    swapIn(world, 35)
    expect(residents(world)).toEqual(['b', 'c', 'd', 'newcomer'])
  })

  it('are never busy ones (BR-17)', () => {
    const world = loaded({ a: 50, b: 50 })
    const running = world.request({ model: 'a', hold: 20_000 })
    world.run(world.now + 100)
    swapIn(world, 40)
    expect(residents(world)).toEqual(['a', 'newcomer'])
    expect(running.outcome).toBe('granted')
  })

  it('are never pinned ones, and softly pinned ones only when nothing else will do', () => {
    const world = newWorld()
    world.declare(sized('pinned', 20, { pinned: true }))
    world.declare(sized('soft', 30, { pinned: 'soft' }))
    world.declare(sized('plain', 40, { keepAlive: -1 }))
    for (const model of ['pinned', 'soft', 'plain']) {
      world.request({ model, hold: 10 })
      world.run(world.now + 1000)
    }
    swapIn(world, 40)
    expect(residents(world)).toEqual(['newcomer', 'pinned', 'soft'])
    world.declare(sized('second', 80))
    world.request({ model: 'second', hold: 10 })
    world.run(world.now + 5000)
    expect(residents(world)).toEqual(['pinned', 'second'])
  })

  it('have had their minimum residency (F20)', () => {
    const world = newWorld({ limits: { minimumResidency: 3000 } })
    world.declare(sized('a', 60, { keepAlive: -1, loadTime: 3000 }))
    world.declare(sized('b', 60))
    world.request({ model: 'a', hold: 10 })
    world.run(3200)
    const waiting = world.request({ model: 'b', hold: 10 })
    world.run(5900)
    expect(residents(world)).toEqual(['a'])
    world.run(7000)
    expect(waiting.outcome).toBe('done')
  })

  it('do not stay longer than it takes to have them back: nobody waits for what is quick to load (F20)', () => {
    const world = newWorld({ limits: { minimumResidency: 3000 } })
    world.declare(sized('a', 60, { keepAlive: -1, loadTime: 300 }))
    world.declare(sized('b', 60))
    world.request({ model: 'a', hold: 10 })
    world.run(310)
    world.request({ model: 'b', hold: 10 })
    world.run(590)
    expect(residents(world)).toEqual(['a'])
    world.run(1500)
    expect(residents(world)).toEqual(['b'])
  })

  it('are those that are quickly had back rather than those that were not used for longer', () => {
    const world = newWorld()
    world.declare(sized('slow', 50, { keepAlive: -1, loadTime: 20_000 }))
    world.declare(sized('quick', 50, { keepAlive: -1 }))
    for (const id of ['slow', 'quick']) {
      world.request({ model: id, hold: 10 })
      world.run(world.now + 25_000)
    }
    swapIn(world, 50)
    expect(residents(world)).toEqual(['newcomer', 'slow'])
  })

  it('are two that are quickly had back rather than one that is not', () => {
    const world = newWorld()
    world.declare(sized('slow', 40, { keepAlive: -1, loadTime: 20_000 }))
    for (const id of ['one', 'two']) world.declare(sized(id, 25, { keepAlive: -1 }))
    for (const id of ['slow', 'one', 'two']) {
      world.request({ model: id, hold: 10 })
      world.run(world.now + 25_000)
    }
    swapIn(world, 40)
    expect(residents(world)).toEqual(['newcomer', 'slow'])
  })

  it('are those that were asked for least of late, where they cost the same', () => {
    const world = newWorld()
    for (const id of ['often', 'seldom']) world.declare(sized(id, 50, { keepAlive: -1, slots: 4 }))
    for (let round = 0; round < 100; round++) world.request({ model: 'often', hold: 10 })
    world.run(10_000)
    world.request({ model: 'seldom', hold: 10 })
    world.run(20_000)
    swapIn(world, 50)
    expect(residents(world)).toEqual(['newcomer', 'often'])
  })

  it('leave a reason with who, for whom and how much (R19)', () => {
    const reasons: string[] = []
    const world = newWorld({
      observe: ({ decision }) => {
        for (const command of decision.commands)
          if (command.type === 'announce' && command.name === 'unload-started')
            reasons.push(command.data.reason)
      },
    })
    for (const id of ['a', 'b']) world.declare(sized(id, 60, { keepAlive: -1 }))
    world.request({ model: 'a', hold: 10 })
    world.run(4110)
    world.request({ model: 'b', hold: 10 })
    world.run(5000)
    expect(reasons).toEqual([
      'frees 60 B for "b" (60 B); idle for 4 s, the cheapest to lose that is enough: 110 ms to have it back, asked for once of late',
    ])
    expect(world.state.models.get('a')?.evictions).toBe(1)
  })

  it('serve an embedder beside two chats that swap (BR-31)', () => {
    const world = newWorld()
    world.declare(sized('embedder', 20, { pinned: true }))
    for (const id of ['one', 'two']) world.declare(sized(id, 70))
    for (let round = 0; round < 50; round++) {
      world.request({ model: 'embedder', hold: 10 })
      world.request({ model: round % 2 === 0 ? 'one' : 'two', hold: 10 })
      world.run(world.now + 1000)
    }
    expect([...world.visitors.values()].every(({ outcome }) => outcome === 'done')).toBe(true)
    expect(world.state.models.get('embedder')).toMatchObject({ loads: 1, evictions: 0 })
  })
})

describe('the smallest set', () => {
  const instance = (id: string): Instance => ({ id, model: id }) as Instance
  const many = Array.from({ length: 14 }, (_, index) => instance(String(index)))
  const isSoft = (): boolean => false

  it('is nobody when nobody is needed', () => {
    expect(chooseVictims(many, isSoft, () => true)).toEqual([])
  })

  it('is undefined when all together are not enough', () => {
    expect(chooseVictims(many, isSoft, () => false)).toBeUndefined()
  })

  it.each([1, 2, 5, 14])('has %d members when so many are needed, even among many', (size) => {
    const victims = chooseVictims(many, isSoft, (some) => some.length >= size)
    expect(victims?.map(({ id }) => Number(id))).toEqual(Array.from({ length: size }, (_, index) => index))
  })

  it('gives up the larger of two copies of which one has to stay, or what is needed would never come free (R9)', () => {
    const world = newWorld({ limits: { memory: { ram: { budget: 60, absolute: 60 } } } })
    world.declare(sized('pair', 20, { slots: 1, minInstances: 1, maxInstances: 2, keepAlive: -1 }))
    world.declare(sized('big', 40))
    for (let count = 0; count < 2; count++) world.request({ model: 'pair', hold: 300 })
    world.run(2000)
    const [, second] = world.copies.values()
    if (second !== undefined) world.machine.grow(second, 1.3)
    const big = world.request({ model: 'big', hold: 10 })
    world.run(100_000)
    expect(big.outcome).toBe('done')
  })
})
