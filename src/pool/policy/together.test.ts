import { describe, expect, it } from 'vitest'
import { newWorld, sized } from '../simulation/scenario.ts'
import { waitSentence } from './wait.ts'

describe('models that use other models (P14)', () => {
  it('get their parts although all places and threads are taken by those who ask', () => {
    const world = newWorld({ limits: { concurrency: 1, threads: 1 } })
    world.declare(sized('caption', 20, { uses: ['chat'] }))
    world.declare(sized('chat', 40))
    const visitor = world.request({ model: 'caption', hold: 100 })
    world.run(5000)
    expect(visitor.outcome).toBe('done')
    expect(visitor.parts.map(({ outcome }) => outcome)).toEqual(['done'])
    expect(world.state.runs).toBe(0)
  })

  it('get their parts before all others, though the instance makes way for an older ticket', () => {
    const world = newWorld({ limits: { swapPatience: 100 } })
    world.declare(sized('speech', 20, { uses: ['chat'], keepAlive: -1 }))
    world.declare(sized('chat', 40, { slots: 2 }))
    world.declare(sized('big', 80))
    world.request({ model: 'speech', hold: 1 })
    world.run(1000)
    const speech = world.request({ model: 'speech', hold: 3000 })
    world.request({ model: 'chat', hold: 5000 })
    const big = world.request({ model: 'big', hold: 10 })
    world.run(2000)
    expect(world.request({ model: 'chat' }).outcome).toBe('waiting')
    world.run(4500)
    expect(speech.outcome).toBe('done')
    world.run(10_000)
    expect(big.outcome).toBe('done')
  })

  it('are refused at once when they can never fit together, and nobody is evicted for it', () => {
    const world = newWorld()
    world.declare(sized('resident', 10, { keepAlive: -1 }))
    world.declare(sized('caption', 50, { uses: ['chat'] }))
    world.declare(sized('chat', 60))
    world.request({ model: 'resident', hold: 10 })
    world.run(1000)
    const { refusedWith } = world.request({ model: 'caption' })
    expect(refusedWith).toMatchObject({
      code: 'model_too_large',
      details: { uses: ['chat'], need: 110, limit: 100 },
    })
    expect(refusedWith?.message).toBe(
      '"caption" with what it uses (chat) needs 110 B of ram, the limit is 100 B. Raise the budget, unpin something or choose smaller models.',
    )
    expect(world.state.instances.map(({ model }) => model)).toEqual(['resident'])
  })

  it('are not loaded while those that run may ask for the rest: the two would make way for each other for ever', () => {
    const world = newWorld()
    world.declare(sized('speech', 40, { uses: ['chat'] }))
    world.declare(sized('chat', 60))
    world.declare(sized('caption', 10, { uses: ['tiny'] }))
    world.declare(sized('tiny', 20))
    const speech = world.request({ model: 'speech', hold: 3000 })
    world.run(500)
    const caption = world.request({ model: 'caption', hold: 10 })
    world.run(1500)
    expect(world.state.instances.map(({ model }) => model)).not.toContain('caption')
    world.run(20_000)
    expect([speech.outcome, caption.outcome]).toEqual(['done', 'done'])
  })

  it('keep what a run asks for free of younger loads, also while an unload takes for ever', () => {
    const world = newWorld({ limits: { concurrency: 1 } })
    world.declare(sized('speech', 80, { uses: ['chat'], loadTime: 4000 }))
    world.declare(sized('chat', 20))
    world.declare(sized('other', 10, { unloadTime: 90_000 }))
    world.abort(world.request({ model: 'other' }))
    const speech = world.request({ model: 'speech', hold: 500 })
    const other = world.request({ model: 'other', hold: 10 })
    world.run(200_000)
    expect([speech.outcome, other.outcome]).toEqual(['done', 'done'])
    expect(world.state.models.get('other')?.loads).toBe(2)
  })

  it('count what their parts use in turn', () => {
    const world = newWorld()
    world.declare(sized('a', 40, { uses: ['b'] }))
    world.declare(sized('b', 40, { uses: ['c'] }))
    world.declare(sized('c', 40))
    expect(world.request({ model: 'a' }).refusedWith?.details).toMatchObject({ uses: ['b', 'c'], need: 120 })
  })

  it('wait for each other when not both can have all they may ask for, and never for ever', () => {
    const world = newWorld()
    for (const [id, part] of [
      ['one', 'x'],
      ['two', 'y'],
    ] as const) {
      world.declare(sized(id, 30, { uses: [part] }))
      world.declare(sized(part, 30))
    }
    world.request({ model: 'two', hold: 1 })
    world.run(2000)
    const first = world.request({ model: 'one', hold: 1000 })
    const second = world.request({ model: 'two', hold: 1000 })
    world.run(2500)
    expect([first.outcome, second.outcome]).toEqual(['waiting', 'granted'])
    const wait = world.state.waits.get('one')
    expect(wait === undefined ? '' : waitSentence(wait, world.now)).toBe(
      'it uses x, which do not fit beside what two may ask for',
    )
    world.run(20_000)
    expect([first.outcome, second.outcome]).toEqual(['done', 'done'])
    expect([...first.parts, ...second.parts].map(({ outcome }) => outcome)).toEqual(['done', 'done'])
  })

  it('run side by side when there is room for all', () => {
    const world = newWorld()
    for (const [id, part] of [
      ['one', 'x'],
      ['two', 'y'],
    ] as const) {
      world.declare(sized(id, 20, { uses: [part] }))
      world.declare(sized(part, 20))
    }
    const visitors = ['one', 'two'].map((model) => world.request({ model, hold: 2000 }))
    world.run(1000)
    expect(visitors.map(({ outcome }) => outcome)).toEqual(['granted', 'granted'])
  })

  it('lose their parts when they leave', () => {
    const world = newWorld()
    world.declare(sized('caption', 20, { uses: ['chat'] }))
    world.declare(sized('chat', 40, { loadTime: 60_000, keepAlive: 0 }))
    const visitor = world.request({ model: 'caption', hold: 100 })
    world.run(2000)
    expect(visitor.parts[0]?.outcome).toBe('waiting')
    world.abort(visitor)
    world.run(70_000)
    expect(world.state.queues).toEqual([])
    expect(world.state.instances.map(({ model }) => model)).toEqual(['caption'])
  })
})
