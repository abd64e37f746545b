import { check, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newWorld, ROOMY, sized } from '../simulation/scenario.ts'
import { Violation } from '../simulation/violation.ts'
import { World } from '../simulation/world.ts'
import { requestChain } from '../simulation/conversations.ts'
import { playHistory } from '../simulation/play-history.ts'
import { HISTORIES } from '../simulation/random-histories.ts'
import { decide, type Decision } from './decide.ts'
import { bookingOf, ledger } from './budget.ts'
import type { PoolEvent } from './messages.ts'
import { demandFor } from './room.ts'
import { RULES } from './rules.ts'
import { startLoad } from './start-load.ts'
import type { Holder, Instance, PoolState } from './state.ts'
import type { Rules, Step } from './step.ts'

const MOST_RUNS = 6000

type Decide = (state: PoolState, event: PoolEvent) => Decision

/** The policy with one rule wrong. */
function withRules(wrong: Partial<Rules>): Decide {
  const rules = { ...RULES, ...wrong }
  return (state, event) => decide(state, event, rules)
}

function withHandlers(wrong: Partial<Rules['handlers']>): Decide {
  return withRules({ handlers: { ...RULES.handlers, ...wrong } })
}

/** The rule by which random histories catch the fault; undefined when none does. */
function caughtBy(mutant: Decide): string | undefined {
  const outcome = check(
    property(HISTORIES, (history) => {
      playHistory(history, { decide: mutant })
    }),
    { numRuns: MOST_RUNS, seed: 1, endOnFailure: true },
  )
  const error = outcome.errorInstance
  if (error instanceof Violation) return error.rule
  return error instanceof Error ? error.message : undefined
}

const only =
  (states: readonly Instance['state'][]) =>
  (holders: readonly Holder[]): ReturnType<typeof ledger> =>
    ledger(holders.filter((holder) => !('state' in holder) || states.includes((holder as Instance).state)))

/** Only what was promised, whatever was measured since. */
function asPromised(holder: Holder): Holder {
  if (!('promise' in holder)) return holder
  return { ...holder, ...bookingOf((holder as Instance).promise, undefined, holder.sharedWeights) }
}

const noSharing = (holder: Holder): Holder => ({ ...holder, sharedWeights: undefined })

const MUTANTS: [fault: string, mutant: Decide, rules: string[]][] = [
  ['F1: all that the slot holds is kept', withRules({ keptPrefix: (slot) => slot.chain.length }), ['F1']],
  [
    'F1: all that is asked for is said to be kept',
    withRules({ keptPrefix: (_slot, chain) => chain.length }),
    ['F1'],
  ],
  ['F2: the limit of runs is looked at beside the grant', withRules({ mayRun: () => true }), ['P4']],
  [
    'F3: a release before the run began is lost',
    withRules({ endsLease: (slot, lease, at) => slot.lease?.id === lease && at > slot.lease.grantedAt }),
    ['R9', 'R13'],
  ],
  [
    'F4: only arrivals, releases and ready instances wake the queue',
    (state, event) => {
      const wakes = ['ticket-arrived', 'lease-released', 'warm-up-finished', 'host-measured', 'load-finished']
      return decide(state, event, wakes.includes(event.type) ? RULES : { ...RULES, walk: () => undefined })
    },
    ['R9', 'R10', 'R8'],
  ],
  [
    'F5: a failed load leaves its instance behind',
    withHandlers({ 'load-failed': () => undefined }),
    ['R8', 'R9', 'R10'],
  ],
  [
    'F6: the GPU stays taken after a failed load',
    withHandlers({
      'load-failed': (step, event) => {
        const failed = step.state.instances.find(({ id }) => id === event.instance)
        RULES.handlers['load-failed'](step, event)
        if (failed?.plan.footprint['gpu:0'] === undefined) return
        step.state.instances = [
          ...step.state.instances,
          { ...failed, state: 'unloading', deadline: undefined },
        ]
      },
    }),
    ['R8', 'R9'],
  ],
  ['F8: what was loaded for a visitor who left stays', withRules({ isWanted: () => true }), ['R10']],
  [
    'F9: a second release frees whoever is there now',
    withRules({ endsLease: (slot) => slot.lease !== undefined }),
    ['F9', 'F15'],
  ],
  [
    'F11: after a failed run the slot is believed to hold what it held before',
    withHandlers({
      'lease-released': (step, event) =>
        RULES.handlers['lease-released'](step, { ...event, untouched: event.chain === undefined }),
    }),
    ['F1'],
  ],
  ['F12: the newest goes first', withRules({ classOf: (ticket) => -ticket.number }), ['F12']],
  [
    'F13: the sweep does not count',
    withRules({
      spareCopies: (state, model) => state.instances.filter((one) => one.model === model.model.id).length,
    }),
    ['F13'],
  ],
  [
    'F13: idleness is counted from the load',
    withRules({
      expiresAt: (instance) =>
        instance.keepAlive < 0 || instance.leases > 0 ? Infinity : instance.startedAt + instance.keepAlive,
    }),
    ['F13'],
  ],
  [
    'F15: an instance on its way out takes tickets',
    withRules({ accepts: (instance) => instance.readyAt !== undefined }),
    ['F15'],
  ],
  [
    'F18: the first entry of the model is removed instead of the one that went',
    withHandlers({
      'memory-returned': (step, event) => {
        const meant = step.state.instances.find(({ id }) => id === event.instance)
        const first = step.state.instances.find(({ model }) => model === meant?.model)
        if (first !== undefined) RULES.handlers['memory-returned'](step, { ...event, instance: first.id })
      },
    }),
    ['R4', 'R8', 'R9', 'F2', 'F9', 'F15', 'R10', 'R13', 'P12'],
  ],
  [
    'F19: pinned models go like any others',
    withRules({ mayEvict: (step, instance, demand) => RULES.mayEvict(unpinned(step), instance, demand) }),
    ['F19'],
  ],
  [
    'F19: somebody is evicted before the machine is looked at',
    withRules({
      shortage: (state, reading, demand, leaving) =>
        leaving.length > 0 ? undefined : RULES.shortage(state, reading, demand, leaving),
    }),
    ['F19'],
  ],
  [
    'R4: what is being loaded is not counted yet',
    withRules({ ledger: only(['warming', 'ready', 'draining', 'unloading']) }),
    ['R4', 'M6'],
  ],
  [
    "R4: shared weights are nobody's",
    withRules({ ledger: (holders) => ledger(holders.map(noSharing)) }),
    ['R4', 'R9'],
  ],
  [
    'R4: measurements do not count',
    withRules({ ledger: (holders) => ledger(holders.map(asPromised)) }),
    ['R4', 'F19'],
  ],
  ['R5: the machine is not looked at', withRules({ shortage: () => undefined }), ['R5', 'F19']],
  ['R6: what can never fit may wait', withRules({ impossible: () => undefined }), ['R9', 'F19']],
  [
    'R7: busy instances go',
    withRules({ mayEvict: (step, instance) => instance.state === 'ready' && !isPinned(step, instance) }),
    ['R7', 'F15'],
  ],
  [
    'R7: fresh instances go',
    withRules({
      mayEvict: (step, instance, demand) => {
        const aged = { ...instance, readyAt: -1e9 }
        return RULES.mayEvict(step, aged, demand)
      },
    }),
    ['R7', 'R9'],
  ],
  [
    'R8: bytes count as free from the order to go',
    withRules({ ledger: only(['loading', 'warming', 'ready', 'draining']) }),
    ['R4'],
  ],
  ['R9: whoever waited for the load may lose it again', withRules({ isEntitled: () => false }), ['R9']],
  ['R10: each request loads its own copy', withRules({ mayAdd: () => true }), ['R10']],
  ['R11: a failed load is tried again at once', withRules({ backoff: () => 0 }), ['R11']],
  ['R13: nothing ever goes', withRules({ expiresAt: () => Number.POSITIVE_INFINITY }), ['R13']],
  ['R17: threads are not counted', withRules({ threadsFree: () => true }), ['R17']],
  [
    'P12: a stop forgets those who wait',
    withHandlers({
      'stop-requested': (step, event) => {
        const { queues } = step.state
        step.state.queues = []
        RULES.handlers['stop-requested'](step, event)
        step.state.queues = queues
      },
    }),
    ['P12'],
  ],
]

function isPinned(step: Step, instance: Instance): boolean {
  return step.state.models.get(instance.model)?.model.pinned === true
}

function unpinned(step: Step): Step {
  const models = new Map(
    [...step.state.models].map(([id, state]) => [id, { ...state, model: { ...state.model, pinned: false } }]),
  )
  return { ...step, state: { ...step.state, models } }
}

describe('a policy with one rule wrong is found out by random histories', () => {
  it.each(MUTANTS)('%s', { timeout: 120_000 }, (_fault, mutant, rules) => {
    expect(rules).toContain(caughtBy(mutant))
  })
})

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
