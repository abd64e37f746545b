import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'
import type { Visitor } from '../simulation/visitor.ts'
import type { World } from '../simulation/world.ts'
import { decide } from './decide.ts'
import { RULES } from './rules.ts'

/** Clients that ask for a model again as soon as they were answered, for as long as the world turns. */
function busyClients(world: World, model: string, clients: number, hold: number): void {
  for (let client = 0; client < clients; client++) {
    const ask = (): void => {
      const visitor = world.request({ model, hold })
      const look = (): void => {
        if (visitor.outcome === 'waiting' || visitor.outcome === 'granted') world.after(10, look)
        else ask()
      }
      world.after(hold + 1, look)
    }
    world.after((client * hold) / clients, ask)
  }
}

function waitedFor(visitor: Visitor): number {
  return (visitor.grantedAt ?? Number.POSITIVE_INFINITY) - visitor.arrivedAt
}

describe('fairness without thrash (R9)', () => {
  it('lets younger requests pass an older one that needs a swap, for as long as swapPatience', () => {
    const world = newWorld({ limits: { swapPatience: 5000 } })
    world.declare(sized('a', 60, { slots: 2 }))
    world.declare(sized('b', 60))
    busyClients(world, 'a', 2, 700)
    world.run(1000)
    const older = world.request({ model: 'b', hold: 10 })
    world.run(5900)
    expect(older.outcome).toBe('waiting')
    expect(world.state.runs).toBe(2)
    world.run(8000)
    expect(waitedFor(older)).toBeLessThan(5000 + 700 + 500)
    expect(world.state.models.get('a')?.evictions).toBe(1)
  })

  it('says that an instance makes way, and for whom (R19)', () => {
    const world = newWorld({ limits: { swapPatience: 1000 } })
    world.declare(sized('a', 60, { slots: 2 }))
    world.declare(sized('b', 60))
    world.request({ model: 'a', hold: 10_000 })
    world.run(500)
    world.request({ model: 'b', hold: 10 })
    world.run(2000)
    const younger = world.request({ model: 'a', hold: 10 })
    expect(younger.outcome).toBe('waiting')
    expect(world.state.waits.get('a')).toEqual({ kind: 'turn', instance: 'a#1', of: 'b', since: 500 })
  })

  it('gives the instance back when the older one leaves', () => {
    const world = newWorld({ limits: { swapPatience: 1000 } })
    world.declare(sized('a', 60, { slots: 2 }))
    world.declare(sized('b', 60))
    world.request({ model: 'a', hold: 10_000 })
    world.run(500)
    const older = world.request({ model: 'b', hold: 10 })
    world.run(2000)
    const younger = world.request({ model: 'a', hold: 10 })
    world.abort(older)
    expect(younger.outcome).toBe('granted')
  })

  it('does not wait for one long run when another model would be free sooner', () => {
    const world = newWorld({ limits: { swapPatience: 1000 } })
    for (const id of ['long', 'short']) world.declare(sized(id, 45))
    world.declare(sized('b', 50))
    world.request({ model: 'long', hold: 600_000 })
    busyClients(world, 'short', 1, 300)
    world.run(1000)
    const waiting = world.request({ model: 'b', hold: 10 })
    world.run(20_000)
    expect(waitedFor(waiting)).toBeLessThan(2 * 1000 + 300 + 1000)
  })

  it('serves those who waited for a load before it can be a victim again', () => {
    const world = newWorld({ limits: { swapPatience: 500 } })
    for (const id of ['a', 'b']) world.declare(sized(id, 60))
    const visitors = Array.from({ length: 10 }, (_, index) =>
      world.request({ model: index % 2 === 0 ? 'a' : 'b', hold: 800 }),
    )
    world.run(60_000)
    expect(visitors.every(({ outcome }) => outcome === 'done')).toBe(true)
    expect(world.state.loads).toBe(2)
  })

  it('serves two clients that alternate between two models with few swaps and a bounded wait (BR-17, F20)', () => {
    const world = newWorld({ limits: { swapPatience: 2000, minimumResidency: 1000 } })
    for (const id of ['a', 'b']) world.declare(sized(id, 60, { slots: 2, loadTime: 1000 }))
    const visitors: Visitor[] = []
    for (let client = 0; client < 2; client++) {
      const ask = (round: number): void => {
        if (round === 30) return
        const visitor = world.request({ model: (round + client) % 2 === 0 ? 'a' : 'b', hold: 200 })
        visitors.push(visitor)
        const look = (): void => {
          if (visitor.outcome === 'done') ask(round + 1)
          else world.after(10, look)
        }
        look()
      }
      ask(0)
    }
    world.run(600_000)
    expect(visitors.length).toBe(60)
    expect(visitors.every(({ outcome }) => outcome === 'done')).toBe(true)
    expect(Math.max(...visitors.map(waitedFor))).toBeLessThan(6000)
  })

  it('starves nobody under steady load, whatever the numbers (property)', () => {
    for (let seed = 0; seed < 60; seed++) {
      const clients = 1 + (seed % 5)
      const slots = 1 + (seed % 3)
      const hold = [50, 400, 3000][seed % 3] ?? 50
      const swapPatience = [0, 1000, 5000][seed % 3] ?? 0
      const minimumResidency = seed % 2 === 0 ? 0 : 2000
      const world = newWorld({ seed, limits: { swapPatience, minimumResidency, threads: 1 + (seed % 4) } })
      world.declare(sized('a', 40, { slots }))
      world.declare(sized('c', 40, { slots }))
      world.declare(sized('b', 70))
      busyClients(world, 'a', clients, hold)
      busyClients(world, 'c', clients, hold)
      world.run(3000)
      const waiting = world.request({ model: 'b', hold: 10 })
      const bound = 2 * swapPatience + minimumResidency + 2 * clients * hold + 5000
      while (waiting.outcome === 'waiting' && world.now < 3000 + 2 * bound) world.run(world.now + 500)
      expect(waitedFor(waiting), `seed ${seed}`).toBeLessThan(bound)
    }
  })

  it('lets those who wait in person keep their model before a background request, for a minute at most (R20)', () => {
    const world = newWorld({ limits: { swapPatience: 2000 } })
    world.declare(sized('a', 60, { slots: 2 }))
    world.declare(sized('b', 60))
    for (let index = 0; index < 300; index++)
      world.after(index * 400, () => world.request({ model: 'a', hold: 700, priority: 'interactive' }))
    world.run(1000)
    const background = world.request({ model: 'b', hold: 10, priority: 'background' })
    world.run(50_000)
    expect(background.outcome).toBe('waiting')
    world.run(120_000)
    expect(waitedFor(background)).toBeLessThan(60_000 + 2000 + 700 + 1000)
  })

  it('the same property finds a policy without patience’s end out', () => {
    const world = newWorld({
      decide: (state, event) => decide(state, event, { ...RULES, isOwed: () => false }),
    })
    world.declare(sized('a', 60, { slots: 2 }))
    world.declare(sized('b', 60))
    busyClients(world, 'a', 4, 300)
    world.run(1000)
    const starved = world.request({ model: 'b', hold: 10 })
    world.run(30_000)
    expect(starved.outcome).toBe('waiting')
  })
})

describe('cold starts in a budget for one', () => {
  it.each(Array.from({ length: 50 }, (_, seed) => seed))(
    'serve one model after the other, in order (BR-15, round %d)',
    (seed) => {
      let most = 0
      const world = newWorld({
        seed,
        limits: { maxLargeModels: 1 },
        observe: ({ world: { copies } }) => (most = Math.max(most, copies.size)),
      })
      for (const id of ['a', 'b', 'c']) world.declare(sized(id, 70, { loadTime: 1000 }))
      const visitors = ['a', 'b', 'c'].map((model) => world.request({ model, hold: 100 + 37 * seed }))
      world.run(60_000)
      expect(visitors.map(({ outcome }) => outcome)).toEqual(['done', 'done', 'done'])
      const granted = visitors.map(({ grantedAt }) => grantedAt ?? 0)
      expect(granted).toEqual(granted.toSorted((a, b) => a - b))
      expect(most).toBe(1)
    },
  )
})
