import { assert, property, record, array, integer, boolean, constantFrom } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { requestChain } from '../simulation/conversations.ts'
import { newWorld, sized } from '../simulation/scenario.ts'
import type { SimulatedModel } from '../simulation/simulated-model.ts'
import type { Visitor } from '../simulation/visitor.ts'
import type { World } from '../simulation/world.ts'
import { waitSentence } from './wait.ts'

const BEGINNING = Array.from({ length: 6 }, (_, index) => ({ hash: `b${index}`, end: (index + 1) * 1000 }))

/** An agent with the beginning of all agents and a tail of its own. */
function agentChain(name: string): ReturnType<typeof requestChain> {
  return [...BEGINNING, { hash: `s/${name}/0`, end: 7000 }]
}

function agentWorld(model: Partial<SimulatedModel> = {}): World {
  const world = newWorld({ limits: { parking: { mode: 'worth' } } })
  world.machine.shelf.isReliable = true
  const more = { slots: 4, parks: true, savesWhileAnswering: true, keepAlive: -1, ...model }
  world.declare(sized('m', 10, more))
  return world
}

const come = (world: World, count: number, hold = 4000): Visitor[] =>
  Array.from({ length: count }, (_, index) =>
    world.request({ model: 'm', chain: agentChain(`a${index}`), hold }),
  )

/** Of those that were served, how many computed the beginning themselves. */
const computers = (visitors: readonly Visitor[]): Visitor[] =>
  visitors.filter(({ granted }) => granted !== undefined && granted.keptPrefix < BEGINNING.length)

describe('agents that arrive at once with one beginning (R3, R16)', () => {
  it.each([2, 4, 8])('%i of them compute it once', (count) => {
    const world = agentWorld()
    const agents = come(world, count)
    world.run(world.now + 60_000)
    expect(agents.every(({ outcome }) => outcome === 'done')).toBe(true)
    expect(computers(agents)).toHaveLength(1)
  })

  it('begin as soon as the first one begins to answer, not when it has ended', () => {
    const world = agentWorld()
    const [leader, follower] = come(world, 2, 10_000)
    world.run(world.now + 6000)
    expect(leader?.outcome).toBe('granted')
    expect(follower?.granted).toMatchObject({ park: [{ slot: 0, lease: 'lease-1' }], keptPrefix: 6 })
  })

  it('wait for its end where the engine cannot write a slot that answers', () => {
    const world = agentWorld({ savesWhileAnswering: false })
    const agents = come(world, 4, 3000)
    world.run(world.now + 2500)
    expect(agents.filter(({ outcome }) => outcome === 'granted')).toHaveLength(1)
    world.run(world.now + 60_000)
    expect(computers(agents)).toHaveLength(1)
  })

  it('do not wait for a long answer when to compute the beginning again is quicker', () => {
    const world = agentWorld({ savesWhileAnswering: false })
    world.request({ model: 'm', chain: requestChain('other', 'x', 4), hold: 60_000 })
    world.run(world.now + 90_000)
    const agents = come(world, 3, 60_000)
    world.run(world.now + 1000)
    expect(agents.map(({ outcome }) => outcome)).toEqual(['granted', 'granted', 'granted'])
  })

  it('when the first one is aborted, the next one takes its place and the others wait for that', () => {
    const world = agentWorld()
    const agents = come(world, 4)
    world.run(world.now + 1000)
    world.abort(agents[0] as Visitor)
    world.run(world.now + 60_000)
    expect(agents.map(({ outcome }) => outcome)).toEqual(['done', 'done', 'done', 'done'])
    expect(computers(agents)).toHaveLength(2)
  })

  it('nobody waits for ever for a run that does not come to its answer', () => {
    const world = agentWorld({ savesWhileAnswering: false })
    world.request({ model: 'm', chain: requestChain('other', 'x', 4), hold: 10 })
    world.run(world.now + 1000)
    const [, follower] = come(world, 2, 3_600_000)
    world.run(world.now + 60_000)
    expect(follower?.outcome).toBe('granted')
  })

  it('another conversation passes those who wait, and they say what they wait for (R19)', () => {
    const world = agentWorld()
    come(world, 2)
    const other = world.request({ model: 'm', chain: requestChain('other', 'x', 0), hold: 10 })
    world.run(world.now + 1000)
    expect(other.outcome).toBe('done')
    const wait = world.state.waits.get('m')
    expect(wait === undefined ? '' : waitSentence(wait, world.now)).toMatch(
      /^the beginning it shares with another request has been computed on m#1 for .+, and is copied then$/,
    )
  })

  it('do not wait for a beginning of a few words, or where nothing is parked', () => {
    const world = agentWorld()
    const short = (name: string): Visitor =>
      world.request({
        model: 'm',
        chain: [
          { hash: 's', end: 100 },
          { hash: `s/${name}/0`, end: 200 },
        ],
      })
    const shorts = [short('a'), short('b')]
    world.run(world.now + 500)
    expect(shorts.map(({ outcome }) => outcome)).toEqual(['granted', 'granted'])
    const off = agentWorld({ parking: false })
    const agents = come(off, 2)
    off.run(off.now + 500)
    expect(agents.map(({ outcome }) => outcome)).toEqual(['granted', 'granted'])
  })

  it('property: whoever leaves whenever, all are served, and the beginning is computed once and once more for each who leaves with it', () => {
    const agent = record({ delay: integer({ min: 0, max: 6000 }), hold: integer({ min: 1, max: 8000 }) })
    const history = record({
      agents: array(agent, { minLength: 2, maxLength: 10 }),
      aborts: array(record({ at: integer({ min: 0, max: 12_000 }), who: integer({ min: 0, max: 9 }) }), {
        maxLength: 4,
      }),
      slots: constantFrom(1, 2, 4),
      savesWhileAnswering: boolean(),
    })
    assert(
      property(history, ({ agents, aborts, slots, savesWhileAnswering }) => {
        const world = agentWorld({ slots, savesWhileAnswering })
        const visitors: Visitor[] = []
        for (const [index, { delay, hold }] of agents.entries())
          world.after(delay, () =>
            visitors.push(world.request({ model: 'm', chain: agentChain(`a${index}`), hold })),
          )
        for (const { at, who } of aborts)
          world.after(at, () => visitors[who] !== undefined && world.abort(visitors[who]))
        world.run(world.now + 600_000)
        expect(visitors.filter(({ outcome }) => outcome !== 'done' && outcome !== 'aborted')).toEqual([])
        const most = savesWhileAnswering ? 1 + aborts.length : visitors.length
        expect(computers(visitors).length).toBeLessThanOrEqual(most)
      }),
      { numRuns: 300, seed: 7 },
    )
  })
})
