import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'

describe('threads (R17)', () => {
  it('are counted once per instance that runs anything', () => {
    const world = newWorld({ limits: { threads: 4 } })
    world.declare(sized('a', 20, { threads: 2, slots: 4 }))
    world.declare(sized('b', 20, { threads: 2 }))
    world.declare(sized('c', 20, { threads: 1 }))
    for (const model of ['a', 'b', 'c']) {
      world.request({ model, hold: 1 })
      world.run(world.now + 1000)
    }
    const running = ['a', 'a', 'a', 'b', 'c'].map((model) => world.request({ model, hold: 3000 }))
    expect(running.map(({ outcome }) => outcome)).toEqual([
      'granted',
      'granted',
      'granted',
      'granted',
      'waiting',
    ])
    expect(world.state.waits.get('c')).toEqual({
      kind: 'threads',
      needed: 1,
      active: 4,
      limit: 4,
      users: ['a#1', 'b#2'],
    })
    world.run(world.now + 10_000)
    expect(running[4]?.outcome).toBe('done')
  })

  it('that are more than there are run alone', () => {
    const world = newWorld({ limits: { threads: 2 } })
    world.declare(sized('wide', 20, { threads: 8 }))
    world.declare(sized('narrow', 20, { threads: 1 }))
    for (const model of ['wide', 'narrow']) {
      world.request({ model, hold: 1 })
      world.run(world.now + 1000)
    }
    const narrow = world.request({ model: 'narrow', hold: 500 })
    const wide = world.request({ model: 'wide', hold: 500 })
    expect([narrow.outcome, wide.outcome]).toEqual(['granted', 'waiting'])
    world.run(world.now + 600)
    expect(wide.outcome).toBe('granted')
    expect(world.request({ model: 'narrow', hold: 10 }).outcome).toBe('waiting')
  })

  it('are none for engines that use none of ours', () => {
    const world = newWorld({ limits: { threads: 1 } })
    world.declare(sized('remote', 20, { threads: 0, slots: 3 }))
    world.declare(sized('local', 20, { threads: 1 }))
    const visitors = ['remote', 'remote', 'local'].map((model) => world.request({ model, hold: 3000 }))
    world.run(1000)
    expect(visitors.map(({ outcome }) => outcome)).toEqual(['granted', 'granted', 'granted'])
  })

  it('are needed for a warm-up, too', () => {
    const world = newWorld({ limits: { threads: 1 } })
    world.declare(sized('a', 20))
    world.declare(sized('b', 20))
    world.request({ model: 'a', hold: 3000 })
    world.run(1000)
    const other = world.request({ model: 'b', hold: 10 })
    world.run(2500)
    expect(world.state.instances.find(({ model }) => model === 'b')?.state).toBe('warming')
    expect(other.outcome).toBe('waiting')
    world.run(4000)
    expect(other.outcome).toBe('done')
  })

  it('are kept for whoever has waited swapPatience for them, but small users go on beside it', () => {
    const world = newWorld({ limits: { threads: 4, swapPatience: 1000 } })
    world.declare(sized('busy', 20, { threads: 3, slots: 2 }))
    world.declare(sized('small', 20, { threads: 1, slots: 2 }))
    world.declare(sized('other', 20, { threads: 3 }))
    for (const model of ['busy', 'small', 'other']) {
      world.request({ model, hold: 1 })
      world.run(world.now + 1000)
    }
    world.request({ model: 'busy', hold: 3000 })
    world.request({ model: 'small', hold: 3000 })
    const other = world.request({ model: 'other', hold: 10 })
    world.run(world.now + 500)
    expect(world.request({ model: 'busy', hold: 100 }).outcome).toBe('granted')
    world.run(world.now + 1000)
    const [late, small] = [
      world.request({ model: 'busy', hold: 10 }),
      world.request({ model: 'small', hold: 10 }),
    ]
    expect([late.outcome, small.outcome]).toEqual(['waiting', 'granted'])
    world.run(world.now + 5000)
    expect([other.outcome, late.outcome]).toEqual(['done', 'done'])
    expect(other.grantedAt).toBeLessThan(late.grantedAt ?? 0)
  })
})
