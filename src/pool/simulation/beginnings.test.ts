import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { comparisonPolicy } from './comparison-policies.ts'
import { readTrace } from './read-trace.ts'
import { simulate } from './simulate.ts'
import type { SimulationReport } from './simulation-report.ts'
import type { Trace } from './trace.ts'

const FILE = join(import.meta.dirname, '__fixtures__/eight-agents.jsonl')
const BEGINNING = 1450

describe('eight agents with one beginning of 1,450 tokens on four slots, and a second model that takes turns with theirs (R3, R16)', () => {
  let trace: Trace
  let none: SimulationReport
  let affinity: SimulationReport
  let parking: SimulationReport

  beforeAll(() => {
    trace = readTrace(readFileSync(FILE, 'utf8').split('\n'), FILE)
    none = simulate(trace, { decide: comparisonPolicy('without-affinity') })
    affinity = simulate(trace, { decide: comparisonPolicy('without-parking') })
    parking = simulate(trace)
  })

  it('are all served within the budget, with the same prompts, whatever the policy', () => {
    const tokens = trace.requests.reduce((sum, request) => sum + (request.tokens ?? 0), 0)
    for (const report of [none, affinity, parking]) {
      expect(report).toMatchObject({ served: trace.requests.length, refused: {}, overBudget: 0 })
      expect(report.prompts.computed + report.prompts.reused).toBe(tokens)
    }
  })

  it('compute fewer tokens with affinity than without, and fewer with parking than with affinity', () => {
    expect(affinity.prompts.computed).toBeLessThan(none.prompts.computed)
    expect(parking.prompts.computed).toBeLessThan(affinity.prompts.computed)
    expect(parking.contexts.restored).toBeGreaterThan(0)
  })

  it('compute little more than every token once where contexts are parked', () => {
    const last = new Map(trace.requests.map(({ conversation, tokens = 0 }) => [conversation, tokens]))
    const all = [...last.values()].reduce((sum, tokens) => sum + tokens, 0)
    expect(parking.prompts.computed).toBeLessThan(all - 7 * BEGINNING + 0.3 * BEGINNING)
  })

  it('hear the first token sooner with parking than without, on average and at worst', () => {
    expect(parking.firstTokens.mean).toBeLessThan(affinity.firstTokens.mean)
    expect(parking.firstTokens.longest).toBeLessThan(affinity.firstTokens.longest)
    expect(parking.duration).toBeLessThan(affinity.duration)
  })

  it('would compute more with parking, too, if the trace did not say what they share', () => {
    const strangers = { ...trace, requests: trace.requests.map(({ beginning: _, ...rest }) => rest) }
    const more = simulate(strangers).prompts.computed - parking.prompts.computed
    expect(more).toBeGreaterThan(6 * BEGINNING)
  })
})
