import { describe, expect, it } from 'vitest'
import { twoAgents } from '../../pool/simulation/sample-traces.ts'
import { comparisonPolicy } from '../../pool/simulation/comparison-policies.ts'
import { simulate } from '../../pool/simulation/simulate.ts'
import { renderSimulations } from './simulations.ts'

describe('the table of simulations', () => {
  it('has a column for each and shows the models of the first', () => {
    const first = { name: 'as recorded', eventsPerSecond: 100_000, ...simulate(twoAgents(20)) }
    const options = { decide: comparisonPolicy('arrival-order') }
    const second = { name: 'arrival-order', eventsPerSecond: 90_000, ...simulate(twoAgents(20), options) }
    const lines = renderSimulations([first, second]).split('\n')
    expect(lines[0]).toMatch(/^ +as recorded +arrival-order$/)
    expect(lines[1]).toMatch(/^served +40 +40$/)
    expect(lines.find((line) => line.startsWith('loads'))).toMatch(/^loads +\d +40$/)
    expect(lines.find((line) => line.startsWith('moments'))).toMatch(/^moments over budget +0 +0$/)
    expect(lines).toContainEqual(expect.stringMatching(/^MODEL \(as recorded\) +SERVED +LOADS/))
    expect(lines.at(-1)).toMatch(/^b +20 +\d/)
  })
})
