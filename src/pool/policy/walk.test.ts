import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'

describe('loads (R10)', () => {
  it.each([4, 20])('are one for %d who ask at once (BR-16)', (count) => {
    const world = newWorld()
    world.declare(sized('m', 40, { slots: 4 }))
    const visitors = Array.from({ length: count }, () => world.request({ model: 'm', hold: 50 }))
    world.run(10_000)
    expect(visitors.every(({ outcome }) => outcome === 'done')).toBe(true)
    expect(world.state.models.get('m')?.loads).toBe(1)
  })

  it('go on when some of those who wait leave', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { loadTime: 1000 }))
    const leaver = world.request({ model: 'm' })
    const stayer = world.request({ model: 'm', hold: 10 })
    world.run(500)
    world.abort(leaver)
    world.run(3000)
    expect(stayer.outcome).toBe('done')
    expect(world.state.models.get('m')?.loads).toBe(1)
  })

  it('are cancelled when the last one leaves, and leave no copy behind (F17)', () => {
    const world = newWorld()
    world.declare(sized('m', 40, { loadTime: 60_000 }))
    const leaver = world.request({ model: 'm' })
    world.run(500)
    world.abort(leaver)
    world.run(70_000)
    expect(world.copies.size).toBe(0)
    expect(world.state.instances).toEqual([])
  })

  it('of different models do not wait for each other (F16)', () => {
    const world = newWorld()
    world.declare(sized('big', 60, { loadTime: 30_000 }))
    world.declare(sized('small', 20))
    world.request({ model: 'big' })
    const small = world.request({ model: 'small', hold: 10 })
    world.run(1000)
    expect(small.outcome).toBe('done')
  })

  it('may take free memory that an older ticket cannot use yet, until that one is owed', () => {
    const world = newWorld({ limits: { swapPatience: 1000 } })
    world.declare(sized('running', 60))
    world.declare(sized('big', 80))
    world.declare(sized('small', 20))
    world.declare(sized('tiny', 19))
    world.request({ model: 'running', hold: 20_000 })
    world.run(500)
    world.request({ model: 'big' })
    const small = world.request({ model: 'small', hold: 20_000 })
    world.run(1200)
    expect(small.outcome).toBe('granted')
    world.run(3000)
    const tiny = world.request({ model: 'tiny' })
    world.run(4000)
    expect(tiny.outcome).toBe('waiting')
  })
})

describe('minInstances (P9)', () => {
  it('are loaded at once and after any loss', () => {
    const world = newWorld()
    world.declare(sized('m', 20, { minInstances: 2, maxInstances: 3, keepAlive: 0 }))
    world.run(1000)
    expect(world.state.instances.length).toBe(2)
    const [copy] = world.copies.values()
    if (copy !== undefined) world.machine.crash(copy)
    world.run(2000)
    expect(world.state.instances.map(({ id, state }) => `${id} ${state}`)).toEqual(['m#2 ready', 'm#3 ready'])
  })

  it('are not restored after an operator’s unload, until somebody asks', () => {
    const world = newWorld()
    world.declare(sized('m', 20, { minInstances: 1 }))
    world.run(1000)
    world.unload('m')
    world.run(60_000)
    expect(world.state.instances).toEqual([])
    world.request({ model: 'm', hold: 10 })
    world.run(120_000)
    expect(world.state.instances).toMatchObject([{ state: 'ready' }])
  })

  it('come back with a backoff when loading fails', () => {
    const starts: number[] = []
    const world = newWorld({
      observe: ({ decision, event }) => {
        if (decision.commands.some(({ type }) => type === 'start-load')) starts.push(event.at)
      },
    })
    world.declare(sized('m', 20, { minInstances: 1, failing: 1, loadTime: 100 }))
    world.run(20_000)
    expect(starts.length).toBeGreaterThanOrEqual(4)
    const gaps = starts.slice(1).map((at, index) => at - (starts[index] ?? 0))
    expect(gaps.slice(0, 4)).toEqual([1100, 2100, 4100, 8100].slice(0, gaps.length))
  })

  it('that do not fit are told, and tried again when there is room', () => {
    const world = newWorld()
    world.declare(sized('other', 60, { pinned: true }))
    world.request({ model: 'other', hold: 10 })
    world.run(1000)
    world.declare(sized('m', 60, { minInstances: 1 }))
    expect(world.state.models.get('m')?.lastError?.code).toBe('model_too_large')
    world.declare(sized('other', 60, { pinned: false }))
    world.run(20_000)
    expect(world.state.instances.map(({ model }) => model)).toEqual(['m'])
  })

  it('that the machine had no room for are loaded when it has, though nothing else happens', () => {
    const world = newWorld()
    world.machine.setForeign('ram', world.machine.available('ram'))
    world.declare(sized('m', 20, { minInstances: 1 }))
    world.run(1000)
    expect(world.state.instances).toEqual([])
    world.machine.setForeign('ram', 0)
    world.run(60_000)
    expect(world.state.instances).toMatchObject([{ model: 'm', state: 'ready' }])
  })
})

describe('the queue (F4)', () => {
  it.each([
    ['a release', (world: ReturnType<typeof newWorld>) => world.run(3000)],
    ['an unload by an operator', (world: ReturnType<typeof newWorld>) => world.unload('a', true)],
    [
      'a crash',
      (world: ReturnType<typeof newWorld>) => {
        const [copy] = world.copies.values()
        if (copy !== undefined) world.machine.crash(copy)
      },
    ],
    ['a withdrawal', (world: ReturnType<typeof newWorld>) => world.withdraw('a')],
    [
      'new limits',
      (world: ReturnType<typeof newWorld>) =>
        world.send({
          type: 'limits-changed',
          limits: { ...world.state.limits, memory: { ram: { budget: 200, absolute: 200 } } },
        }),
    ],
  ])('is woken by %s', (_what, happen) => {
    const world = newWorld()
    for (const id of ['a', 'b']) world.declare(sized(id, 60))
    world.request({ model: 'a', hold: 2500 })
    world.run(500)
    const waiting = world.request({ model: 'b', hold: 10 })
    world.run(600)
    expect(waiting.outcome).toBe('waiting')
    happen(world)
    world.run(20_000)
    expect(waiting.outcome).toBe('done')
  })
})

describe('a ticket that ends without a lease', () => {
  /** `big` comes before the operator's load of `small`, which is entitled to the copy that `big` needs gone. */
  it('does not leave an older one waiting for ever for the copy that it was owed (R9)', () => {
    const world = newWorld({ limits: { swapPatience: 1000 } })
    world.declare(sized('small', 40, { slots: 1, keepAlive: -1, loadTime: 1000 }))
    world.declare(sized('big', 80))
    const first = world.request({ model: 'small', hold: 20_000 })
    const load = world.request({ model: 'small', wants: 'instance', priority: 'background' })
    world.request({ model: 'small', hold: 20_000 })
    const big = world.request({ model: 'big', hold: 10 })
    world.request({ model: 'small', hold: 1000 })
    world.run(1500)
    const younger = world.request({ model: 'small', hold: 300 })
    world.run(200_000)
    expect([first, load, big, younger].map(({ outcome }) => outcome)).toEqual([
      'done',
      'done',
      'done',
      'done',
    ])
  })
})
