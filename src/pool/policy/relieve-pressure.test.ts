import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'
import type { World } from '../simulation/world.ts'

/** Three copies of 30, 20 and 10 bytes on a machine of 100 that should keep 20 free; the first is the least recently used. */
function neighbours(): World {
  const world = newWorld({ limits: { headroom: 20, pressureInterval: 5000 }, host: { ram: 100 } })
  for (const [id, bytes] of [
    ['a', 30],
    ['b', 20],
    ['c', 10],
  ] as const) {
    world.declare(sized(id, bytes, { keepAlive: -1 }))
    world.request({ model: id, hold: 10 })
    world.run(world.now + 1000)
  }
  return world
}

const residents = (world: World): string[] => world.state.instances.map(({ model }) => model)

describe('a good neighbour (R20)', () => {
  it('keeps idle copies while the headroom is free', () => {
    const world = neighbours()
    world.machine.setForeign('ram', 20)
    world.run(60_000)
    expect(residents(world)).toEqual(['a', 'b', 'c'])
  })

  it('lets as few idle copies go as bring the headroom back when other programs take memory', () => {
    const world = neighbours()
    world.machine.setForeign('ram', 35)
    world.run(60_000)
    expect(residents(world)).toEqual(['b', 'c'])
  })

  it('lets go what it can when that is not enough, but nothing that runs', () => {
    const world = neighbours()
    const running = world.request({ model: 'b', hold: 100_000 })
    world.machine.setForeign('ram', 80)
    world.run(60_000)
    expect(residents(world)).toEqual(['b'])
    expect(running.outcome).toBe('granted')
  })

  it('says why (R19)', () => {
    const reasons: string[] = []
    const world = newWorld({
      limits: { headroom: 20, pressureInterval: 5000 },
      host: { ram: 100 },
      observe: ({ decision }) => {
        for (const command of decision.commands)
          if (command.type === 'announce' && command.name === 'unload-started')
            reasons.push(command.data.reason)
      },
    })
    world.declare(sized('a', 30, { keepAlive: -1 }))
    world.request({ model: 'a', hold: 10 })
    world.run(1000)
    world.machine.setForeign('ram', 65)
    world.run(20_000)
    expect(reasons).toEqual(['this machine has 5 B of memory left and should have 20 B; frees 30 B'])
  })

  it('is not looked for when it is switched off, or nothing could be given back', () => {
    let looks = 0
    const observe = ({ event }: { event: { type: string } }): void => {
      if (event.type === 'host-measured') looks++
    }
    const off = newWorld({ limits: { pressureInterval: 0 }, observe })
    off.declare(sized('a', 30, { keepAlive: -1 }))
    off.request({ model: 'a', hold: 10 })
    off.run(100_000)
    expect(looks).toBe(1)
    const idle = newWorld({ limits: { pressureInterval: 5000 }, observe })
    idle.declare(sized('a', 30))
    idle.run(100_000)
    expect(looks).toBe(1)
  })
})
