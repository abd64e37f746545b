import { describe, expect, it } from 'vitest'
import { withRules, type Decide } from '../policy/faulty-policy.ts'
import { comparisonPolicy, type ComparisonPolicy } from './comparison-policies.ts'
import {
  BUSY,
  burst,
  CALM,
  eightUsers,
  MODEL_SETS,
  twoAgents,
  twoLongConversations,
} from './sample-traces.ts'
import { simulate } from './simulate.ts'
import type { Trace } from './trace.ts'
import type { SimulationReport } from './simulation-report.ts'
import type { Visitor } from './visitor.ts'
import type { Look } from './world.ts'

const SEEDS = [1, 2, 3, 4]
const HABITS = { calm: CALM, busy: BUSY }

const by = (trace: Trace, policy: ComparisonPolicy): SimulationReport =>
  simulate(trace, { decide: comparisonPolicy(policy) })

const sum = (numbers: readonly number[]): number => numbers.reduce((all, number) => all + number, 0)

/** How many models had tickets waiting when each ticket arrived. */
function countAhead(ahead: Map<string, number>): (look: Look) => void {
  return ({ before, event }) => {
    if (event.type !== 'ticket-arrived') return
    const others = before.queues.filter(({ model }) => model !== event.ticket.model)
    ahead.set(event.ticket.id, others.length)
  }
}

/** Milliseconds beyond `(patience + one run + one load) × (models waiting ahead + 1)` that somebody waited; 0 or less when nobody did. */
function excessWait(trace: Trace, decide?: Decide): number {
  const ahead = new Map<string, number>()
  const visitors: Visitor[] = []
  const options = { observe: countAhead(ahead), onEnd: (visitor: Visitor) => visitors.push(visitor) }
  simulate(trace, decide === undefined ? options : { ...options, decide })
  const run = Math.max(...trace.requests.map(({ hold }) => hold))
  const swaps = trace.models.map(
    ({ loadTime = 0, warmUpTime = 0, unloadTime = 0 }) => loadTime + warmUpTime + unloadTime,
  )
  const turn = trace.limits.swapPatience + run + Math.max(...swaps)
  expect(visitors.length).toBe(trace.requests.length)
  const excess = visitors.map(({ ticket, arrivedAt, grantedAt = Number.POSITIVE_INFINITY }) => {
    return grantedAt - arrivedAt - turn * ((ahead.get(ticket) ?? 0) + 1)
  })
  return Math.max(...excess)
}

describe('two agents with a model each and memory for one (R9)', () => {
  it('need at most a quarter of the loads that strict arrival order needs', () => {
    const loads = simulate(twoAgents()).loads
    expect(loads).toBeLessThanOrEqual(by(twoAgents(), 'arrival-order').loads / 4)
    expect(loads).toBeLessThan(by(twoAgents(), 'lru-without-patience').loads)
  })

  it('wait no longer than (patience + one run + one load) × (models waiting ahead + 1)', () => {
    expect(excessWait(twoAgents())).toBeLessThanOrEqual(0)
  })

  it('would wait longer if whoever is in memory could stay for a minute, and this test would see it', () => {
    const selfish = withRules({ safeUntil: ({ readyAt = 0 }) => readyAt + 60_000 })
    expect(excessWait(twoAgents(), selfish)).toBeGreaterThan(0)
  })
})

describe('eight users who share five models (R7)', () => {
  it('cost at least 30 % less reload time than LRU where models of one size differ in how long they load', () => {
    const traces = SEEDS.map((seed) => eightUsers('slowDisk', CALM, seed))
    const own = sum(traces.map((trace) => simulate(trace).reloadTime))
    const lru = sum(traces.map((trace) => by(trace, 'lru').reloadTime))
    expect(own).toBeLessThanOrEqual(0.7 * lru)
  })

  it.each(
    Object.keys(MODEL_SETS).flatMap((set) => Object.keys(HABITS).map((habits) => [set, habits] as const)),
  )('cost never more than 5 % more reload time than LRU, on any day (%s, %s)', (set, habits) => {
    for (const seed of SEEDS) {
      const trace = eightUsers(set, HABITS[habits as keyof typeof HABITS], seed)
      const report = simulate(trace)
      expect(report.reloadTime, `seed ${seed}`).toBeLessThanOrEqual(1.05 * by(trace, 'lru').reloadTime)
      expect(report).toMatchObject({ served: trace.requests.length, overBudget: 0 })
    }
  })

  it.each(Object.keys(MODEL_SETS))('wait no longer than the bound of R9, on any day (%s)', (set) => {
    for (const seed of SEEDS) {
      for (const habits of [CALM, BUSY])
        expect(excessWait(eightUsers(set, habits, seed)), `seed ${seed}`).toBeLessThanOrEqual(0)
    }
  })
})

describe('two long conversations on two models of which one fits (R16)', () => {
  const trace = twoLongConversations()
  const own = simulate(trace)
  const [withoutParking, withoutAffinity] = [by(trace, 'without-parking'), by(trace, 'without-affinity')]

  it('compute less than a tenth of the tokens with parking, and are done sooner', () => {
    expect(own.served).toBe(trace.requests.length)
    expect(own.prompts.computed).toBeLessThan(withoutParking.prompts.computed / 10)
    expect(withoutParking.contexts).toEqual({ parked: 0, restored: 0 })
    expect(own.contexts.restored).toBeGreaterThan(0)
    expect(own.duration).toBeLessThan(withoutParking.duration)
  })

  it('have the same tokens in all, computed or not', () => {
    const total = ({ prompts }: SimulationReport): number => prompts.computed + prompts.reused
    const tokens = sum(trace.requests.map((request) => request.tokens ?? 0))
    expect([own, withoutParking, withoutAffinity].map(total)).toEqual([tokens, tokens, tokens])
  })
})

describe('a burst of 200 requests in two seconds over five models', () => {
  it.each(SEEDS)('is answered to the last one with one load of each model (seed %d)', (seed) => {
    const report = simulate(burst(seed))
    expect(report).toMatchObject({ served: 200, refused: {}, loads: 5, overBudget: 0 })
    expect(report.reloadTime).toBeLessThanOrEqual(1.05 * by(burst(seed), 'lru').reloadTime)
    expect(by(burst(seed), 'arrival-order').loads).toBeGreaterThan(50)
  })
})
