import { describe, expect, it } from 'vitest'
import { requestChain } from '../simulation/conversations.ts'
import { twoAgents } from '../simulation/sample-traces.ts'
import { simulate } from '../simulation/simulate.ts'
import { newWorld, ROOMY, sized } from '../simulation/scenario.ts'
import type { SimulatedModel } from '../simulation/simulated-model.ts'
import { Violation } from '../simulation/violation.ts'
import { World } from '../simulation/world.ts'
import { decide } from './decide.ts'
import { withHandlers, withRules, type Decide } from './faulty-policy.ts'
import { demandFor } from './room.ts'
import { RULES } from './rules.ts'
import { startLoad } from './start-load.ts'

/** Faults that break no rule at any single moment; a scenario tells the right policy from the wrong one. */
const SCENARIOS: [fault: string, mutant: Decide, isRight: (policy: Decide) => boolean][] = [
  [
    'R5: a domain that cannot be read counts as free',
    withRules({
      shortage: (state, reading, demand, leaving) => {
        const lack = RULES.shortage(state, reading, demand, leaving)
        return lack?.available === undefined ? undefined : lack
      },
    }),
    (policy) => {
      const world = newWorld({ decide: policy, host: {} })
      world.declare(sized('m', 40))
      const visitor = world.request({ model: 'm' })
      world.run(10_000)
      return visitor.refusedWith?.code === 'insufficient_memory'
    },
  ],
  [
    'R7: more go than are needed',
    withRules({
      chooseVictims: (candidates, _isSoft, enough) => (enough(candidates) ? candidates : undefined),
    }),
    (policy) => {
      const world = newWorld({ decide: policy })
      for (const id of ['a', 'b', 'c']) {
        world.declare(sized(id, 30, { keepAlive: -1 }))
        world.request({ model: id, hold: 10 })
        world.run(world.now + 1000)
      }
      world.declare(sized('newcomer', 30))
      world.request({ model: 'newcomer', hold: 10 })
      world.run(world.now + 5000)
      return world.state.instances.length === 3
    },
  ],
  [
    'R7: the dearest goes first',
    withRules({ costOf: (step, instance) => 1 / RULES.costOf(step, instance) }),
    (policy) => secondEvictedOf(policy, [20_000, 100]),
  ],
  [
    'R7: what it takes to have a model back is not looked at',
    withRules({ costOf: (_step, instance) => instance.usedAt }),
    (policy) => secondEvictedOf(policy, [20_000, 100]),
  ],
  [
    'R7: the fewest go, whatever they cost',
    withRules({
      chooseVictims: (candidates, isSoft, enough) => RULES.chooseVictims(candidates, isSoft, enough, () => 1),
    }),
    (policy) => {
      const world = newWorld({ decide: policy })
      const models = [sized('slow', 40, { loadTime: 20_000 }), sized('one', 25), sized('two', 25)]
      useAll(world, models)
      useAll(world, [sized('newcomer', 40)])
      return world.state.instances.some(({ model }) => model === 'slow')
    },
  ],
  [
    'R7: demand is never aged',
    withRules({ askedLately: ({ count }) => count }),
    (policy) => {
      const world = newWorld({ decide: policy })
      world.declare(sized('of yesterday', 50, { keepAlive: -1, slots: 8 }))
      for (let index = 0; index < 200; index++)
        world.after(index * 1000, () => world.request({ model: 'of yesterday', hold: 10 }))
      world.run(4 * 3_600_000)
      const models = [sized('of today', 50)]
      for (let round = 0; round < 10; round++) useAll(world, models)
      world.request({ model: 'of yesterday', hold: 10 })
      world.run(world.now + 60_000)
      useAll(world, models)
      world.run(world.now + 60_000)
      useAll(world, [sized('newcomer', 50)])
      return world.state.instances.some(({ model }) => model === 'of today')
    },
  ],
  [
    'R9: a model that was loaded has no turn of its own',
    withRules({ turnEndsAt: ({ readyAt }) => readyAt ?? 0 }),
    (policy) => simulate(twoAgents(), { decide: policy }).loads <= 80,
  ],
  [
    'F20: whoever was answered a moment ago is not expected back',
    withRules({ safeUntil: ({ readyAt }, { minimumResidency }) => (readyAt ?? 0) + minimumResidency }),
    (policy) => simulate(twoAgents(), { decide: policy }).loads <= 80,
  ],
  [
    'R20: background never rises',
    withRules({ classOf: ({ priority }) => ['interactive', 'normal', 'background'].indexOf(priority) }),
    (policy) => {
      const world = newWorld({ decide: policy })
      world.declare(sized('m', 10))
      const low = world.request({ model: 'm', priority: 'background', hold: 10 })
      world.abort(low)
      world.request({ model: 'm', priority: 'interactive', hold: 900 })
      const starved = world.request({ model: 'm', priority: 'background', hold: 10 })
      for (let second = 0; second < 100; second++) {
        world.request({ model: 'm', priority: 'interactive', hold: 1500 })
        world.run(world.now + 1000)
      }
      return starved.outcome === 'done'
    },
  ],
  [
    'R20: a burst in the background goes before those who wait in person',
    withRules({ classOf: () => 0 }),
    (policy) => {
      const world = newWorld({ decide: policy })
      world.declare(sized('m', 10))
      for (let index = 0; index < 20; index++)
        world.request({ model: 'm', priority: 'background', hold: 1000 })
      const person = world.request({ model: 'm', priority: 'interactive', hold: 10 })
      world.run(3000)
      return person.outcome === 'done'
    },
  ],
  [
    'R9: nobody ever makes way',
    withRules({ isOwed: () => false }),
    (policy) => {
      const world = newWorld({ decide: policy, limits: { swapPatience: 1000 } })
      world.declare(sized('a', 60, { slots: 2 }))
      world.declare(sized('b', 60))
      for (let index = 0; index < 40; index++)
        world.after(index * 500, () => world.request({ model: 'a', hold: 900 }))
      world.run(1500)
      const older = world.request({ model: 'b', hold: 10 })
      world.run(8000)
      return older.outcome === 'done'
    },
  ],
  [
    'R11: a model that failed once is never tried again',
    withRules({ backoff: () => Number.POSITIVE_INFINITY }),
    (policy) => {
      const world = newWorld({ decide: policy })
      world.declare(sized('m', 40, { failing: 1 }))
      world.request({ model: 'm' })
      world.run(5000)
      world.declare(sized('m', 40, { failing: 0 }))
      const later = world.request({ model: 'm', hold: 10 })
      world.run(10_000)
      return later.outcome === 'done'
    },
  ],
  [
    'P14: two that use others begin together whatever they may ask for',
    withRules({ fitsTogether: () => true }),
    (policy) => {
      const world = newWorld({ decide: policy })
      for (const id of ['one', 'two']) {
        world.declare(sized(id, 30, { uses: [`part of ${id}`], keepAlive: -1 }))
        world.declare(sized(`part of ${id}`, 50))
        world.request({ model: id, hold: 1 })
        world.run(world.now + 5000)
      }
      const visitors = ['one', 'two'].map((model) => world.request({ model, hold: 1000 }))
      world.run(world.now + 60_000)
      const parts = visitors.flatMap((visitor) => visitor.parts)
      return parts.length === 2 && parts.every(({ outcome }) => outcome === 'done')
    },
  ],
  [
    'R3: a conversation gets any free slot',
    withRules({
      chooseSlot: (open) => {
        const [instance] = open
        const index = instance?.slots.findIndex(({ lease }) => lease === undefined) ?? -1
        return instance === undefined || index < 0 ? undefined : { instance, index, fit: 'empty' }
      },
    }),
    (policy) => {
      const world = newWorld({ decide: policy })
      world.declare(sized('m', 40, { slots: 3 }))
      const visit = (conversation: string, turn: number): number | undefined => {
        const visitor = world.request({ model: 'm', chain: requestChain('s', conversation, turn), hold: 10 })
        world.run(world.now + 1000)
        return visitor.granted?.slot
      }
      const [one, two] = [visit('one', 0), visit('two', 0)]
      return one !== two && visit('one', 1) === one && visit('two', 1) === two
    },
  ],
  [
    'R16: agents that arrive at once do not wait for the first one',
    withRules({ awaitedBeginning: () => undefined }),
    (policy) => {
      const world = newWorld({ decide: policy, limits: { parking: { mode: 'worth' } } })
      world.declare(sized('m', 10, { slots: 4, parks: true, savesWhileAnswering: true }))
      world.machine.shelf.isReliable = true
      const agents = ['x', 'y', 'z'].map((name) =>
        world.request({
          model: 'm',
          chain: [
            { hash: 's', end: 6000 },
            { hash: `s/${name}/0`, end: 7000 },
          ],
        }),
      )
      world.run(60_000)
      return agents.filter(({ granted }) => granted?.keptPrefix === 0).length === 1
    },
  ],
  [
    'F12: a further copy is loaded after each release',
    withHandlers({
      'lease-released': (step, event) => {
        RULES.handlers['lease-released'](step, event)
        const model = step.state.models.get('m')
        if (model !== undefined) startLoad(step, model, demandFor(model, undefined), 'to be on the safe side')
      },
    }),
    (policy) => {
      const world = new World({ limits: ROOMY, host: { ram: 1000 }, decide: policy })
      world.declare(sized('m', 20, { maxInstances: 4 }))
      for (let index = 0; index < 3; index++) {
        world.request({ model: 'm', hold: 10 })
        world.run(world.now + 1000)
      }
      return world.state.loads === 1
    },
  ],
]

/** Declares them and has each of them used once, one after the other. */
function useAll(world: World, models: readonly SimulatedModel[]): void {
  for (const model of models) {
    if (!world.state.models.has(model.id)) world.declare({ keepAlive: -1, ...model })
    world.request({ model: model.id, hold: 10 })
    world.run(world.now + 25_000)
  }
}

/** Whether of two models that take so long to load the second goes for a third. */
function secondEvictedOf(policy: Decide, [first, second]: readonly [number, number]): boolean {
  const world = newWorld({ decide: policy })
  useAll(world, [sized('first', 50, { loadTime: first }), sized('second', 50, { loadTime: second })])
  useAll(world, [sized('third', 50)])
  return world.state.instances.every(({ model }) => model !== 'second')
}

/** A breach that the inspector sees on the way is as good. */
function isRightAtAll(isRight: (policy: Decide) => boolean, policy: Decide): boolean {
  try {
    return isRight(policy)
  } catch (error) {
    if (error instanceof Violation) return false
    throw error
  }
}

describe('a policy with one rule wrong is found out by a scenario', () => {
  it.each(SCENARIOS)('%s', (_fault, mutant, isRight) => {
    expect(isRight(decide)).toBe(true)
    expect(isRightAtAll(isRight, mutant)).toBe(false)
  })
})
