import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'
import { shortage } from './host-room.ts'
import { emptyState, type Holder } from './state.ts'
import { ROOMY } from '../simulation/scenario.ts'

const demand: Holder = {
  model: 'm',
  charges: [{ domain: 'ram', bytes: 40 }],
  shared: [],
  total: 40,
}

describe('a look at the host before a load (R5, M8)', () => {
  const state = emptyState({ ...ROOMY, headroom: 10 })
  const ram = (available: number): { ram: { total: number; available: number; source: string } } => ({
    ram: { total: 200, available, source: 'test' },
  })

  it('asks for need and headroom', () => {
    expect(shortage(state, ram(50), demand, [])).toBeUndefined()
    expect(shortage(state, ram(49), demand, [])).toEqual({ domain: 'ram', needed: 50, available: 49 })
  })

  it('takes unknown for no', () => {
    expect(shortage(state, {}, demand, [])).toEqual({ domain: 'ram', needed: 50, available: undefined })
  })

  it('waits a while for the system to reclaim memory, then refuses with the numbers', () => {
    const world = newWorld({ limits: { headroom: 10, memoryGrace: 2000 }, host: { ram: 100 } })
    world.declare(sized('m', 40))
    world.machine.setForeign('ram', 60)
    const visitor = world.request({ model: 'm' })
    world.run(1900)
    expect(visitor.outcome).toBe('waiting')
    expect(world.state.waits.get('m')).toMatchObject({ kind: 'host', needed: 50, available: 40 })
    world.run(2500)
    expect(visitor.refusedWith).toMatchObject({
      code: 'insufficient_memory',
      details: { need: 50, available: 40, domain: 'ram' },
    })
    expect(visitor.refusedWith?.retryAfter).toBeGreaterThan(0)
  })

  it('loads as soon as the memory is there within the grace', () => {
    const world = newWorld({ limits: { memoryGrace: 10_000 }, host: { ram: 100 } })
    world.declare(sized('m', 40))
    world.machine.setForeign('ram', 90)
    const visitor = world.request({ model: 'm', hold: 10 })
    world.run(3000)
    world.machine.setForeign('ram', 0)
    world.run(5000)
    expect(visitor.outcome).toBe('done')
  })

  it('gives a later request a grace of its own', () => {
    const world = newWorld({ limits: { memoryGrace: 2000 }, host: { ram: 100 } })
    world.declare(sized('m', 40))
    world.machine.setForeign('ram', 90)
    world.request({ model: 'm' })
    world.run(5000)
    const later = world.request({ model: 'm' })
    world.run(6500)
    expect(later.outcome).toBe('waiting')
    world.run(8000)
    expect(later.refusedWith?.code).toBe('insufficient_memory')
  })

  it('evicts nobody when even that would not make the load possible (F19, M7)', () => {
    const world = newWorld({ limits: { memoryGrace: 1000 }, host: { ram: 150 } })
    world.declare(sized('resident', 30, { keepAlive: -1 }))
    world.declare(sized('big', 90))
    world.request({ model: 'resident', hold: 10 })
    world.run(1000)
    world.machine.setForeign('ram', 70)
    const visitor = world.request({ model: 'big' })
    world.run(10_000)
    expect(visitor.refusedWith?.code).toBe('insufficient_memory')
    expect(world.state.instances.map(({ model }) => model)).toEqual(['resident'])
  })

  it('counts what the victims give back', () => {
    const world = newWorld({ host: { ram: 150 } })
    world.declare(sized('resident', 60, { keepAlive: -1 }))
    world.declare(sized('big', 90))
    world.request({ model: 'resident', hold: 10 })
    world.run(1000)
    world.machine.setForeign('ram', 60)
    const visitor = world.request({ model: 'big', hold: 10 })
    world.run(5000)
    expect(visitor.outcome).toBe('done')
  })

  it('lets idle ones go for the host alone, when the budget would have room', () => {
    const world = newWorld({ host: { ram: 100 } })
    world.declare(sized('resident', 40, { keepAlive: -1 }))
    world.declare(sized('other', 40))
    world.request({ model: 'resident', hold: 10 })
    world.run(1000)
    world.machine.setForeign('ram', 50)
    const visitor = world.request({ model: 'other', hold: 10 })
    world.run(5000)
    expect(visitor.outcome).toBe('done')
  })

  it('counts memory that loads in progress will still take', () => {
    const world = newWorld({ host: { ram: 90 } })
    world.declare(sized('a', 50, { loadTime: 3000 }))
    world.declare(sized('b', 45))
    world.request({ model: 'a', hold: 10 })
    world.request({ model: 'b', hold: 10 })
    world.run(1000)
    expect(world.state.instances.map(({ model }) => model)).toEqual(['a'])
  })
})
