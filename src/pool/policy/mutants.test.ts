import { check, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { playHistory } from '../simulation/play-history.ts'
import { HISTORIES } from '../simulation/random-histories.ts'
import { Violation } from '../simulation/violation.ts'
import { bookingOf, ledger } from './budget.ts'
import { decide } from './decide.ts'
import { withHandlers, withRules, type Decide } from './faulty-policy.ts'
import { RULES } from './rules.ts'
import type { Holder, Instance } from './state.ts'
import type { Step } from './step.ts'

const MOST_RUNS = 6000

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
  const { promise, plan } = holder as Instance
  return { ...holder, ...bookingOf(promise, undefined, plan) }
}

const noSharing = (holder: Holder): Holder => ({ ...holder, shared: [] })

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
    ['R8', 'R9', 'R10', 'P12'],
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
    ['R8', 'R9', 'P12'],
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
  ['R16: the disk budget is not looked at', withRules({ makeContextSpace: () => true }), ['R16', 'F1']],
  [
    'R16: whatever is parked of a model is read, by whatever load',
    withRules({
      fitsInstance: ({ model, writer }, instance) => model === instance.model && writer === undefined,
    }),
    ['R16'],
  ],
  [
    'R16: what is still being written is read',
    withRules({ fitsInstance: (context, instance) => context.identity === instance.stateIdentity }),
    ['R16', 'F1'],
  ],
  [
    'R16: what was to be written by a lease that never ran is counted on',
    withHandlers({
      'lease-released': (step, event) =>
        RULES.handlers['lease-released'](step, { ...event, unprepared: false }),
    }),
    ['R16'],
  ],
  ['R16: files that went are counted on', withHandlers({ 'restore-finished': () => undefined }), ['R16']],
]

function isPinned(step: Step, instance: Instance): boolean {
  return step.state.models.get(instance.model)?.model.pinned === true
}

function unpinned(step: Step): Step {
  let { models } = step.state
  for (const [id, state] of models)
    models = models.with(id, { ...state, model: { ...state.model, pinned: false } })
  return { ...step, state: { ...step.state, models } }
}

describe('a policy with one rule wrong is found out by random histories', () => {
  it.each(MUTANTS)('%s', { timeout: 120_000 }, (_fault, mutant, rules) => {
    expect(rules).toContain(caughtBy(mutant))
  })
})
