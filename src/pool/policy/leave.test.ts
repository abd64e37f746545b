import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'

describe('leaving (R8)', () => {
  it('keeps the bytes charged until they are seen back (BR-48)', () => {
    const world = newWorld()
    world.declare(sized('a', 60, { unloadTime: 3000, keepAlive: -1 }))
    world.declare(sized('b', 60))
    world.request({ model: 'a', hold: 10 })
    world.run(1000)
    const waiting = world.request({ model: 'b', hold: 10 })
    world.run(3500)
    expect(waiting.outcome).toBe('waiting')
    expect(world.state.waits.get('b')).toEqual({ kind: 'evicting', victims: ['a#1'], frees: 60 })
    world.request({ model: 'b', hold: 10 })
    expect(world.state.waits.get('b')).toEqual({ kind: 'leaving', instances: ['a#1'], bytes: 60 })
    expect(world.state.instances).toMatchObject([{ id: 'a#1', state: 'unloading' }])
    world.run(6000)
    expect(waiting.outcome).toBe('done')
  })

  it('blocks nobody who does not need those bytes', () => {
    const world = newWorld()
    world.declare(sized('a', 60, { unloadTime: 30_000, keepAlive: 0 }))
    world.declare(sized('b', 40))
    world.request({ model: 'a', hold: 10 })
    world.run(1000)
    const other = world.request({ model: 'b', hold: 10 })
    world.run(2000)
    expect(other.outcome).toBe('done')
  })

  it('lets a request during the unload wait and load once, not use what is dying (BR-70, BR-18)', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { unloadTime: 2000 }))
    world.request({ model: 'm', hold: 10 })
    world.run(1000)
    world.unload('m')
    world.run(1500)
    const visitors = [1, 2, 3].map(() => world.request({ model: 'm', hold: 10 }))
    world.run(2500)
    expect(visitors.map(({ outcome }) => outcome)).toEqual(['waiting', 'waiting', 'waiting'])
    world.run(5000)
    expect(visitors.map(({ granted }) => granted?.instance)).toEqual(['m#2', 'm#2', 'm#2'])
    expect(world.state.models.get('m')?.loads).toBe(2)
  })

  it('that does not end is reported, stays charged, and is not waited for any more', () => {
    const warnings: string[] = []
    const world = newWorld({
      observe: ({ decision }) => {
        for (const command of decision.commands)
          if (command.type === 'announce' && command.name === 'warning-raised')
            warnings.push(command.data.code)
      },
    })
    world.declare(sized('m', 40, { unloadTime: 10_000_000, keepAlive: 0 }))
    world.request({ model: 'm', hold: 10 })
    world.run(1000)
    const next = world.request({ model: 'm', hold: 10 })
    world.run(50_000)
    expect(next.outcome).toBe('waiting')
    world.run(70_000)
    expect(warnings).toEqual(['unload_stuck'])
    expect(next.outcome).toBe('done')
    expect(world.state.instances.map(({ id, state }) => `${id} ${state}`)).toEqual([
      'm#1 unloading',
      'm#2 unloading',
    ])
  })

  it('takes the memory of a dead worker back the same way (M19)', () => {
    const world = newWorld()
    world.declare(sized('m', 40))
    const running = world.request({ model: 'm', hold: 10_000 })
    world.run(1000)
    const [copy] = world.copies.values()
    if (copy !== undefined) world.machine.crash(copy)
    expect(running.outcome).toBe('cut')
    expect(world.state.instances).toMatchObject([{ state: 'unloading', leases: 0 }])
    world.run(2000)
    expect(world.state.instances).toEqual([])
  })
})
