import { check, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { playHistory } from '../simulation/play-history.ts'
import { HISTORIES } from '../simulation/random-histories.ts'

const RUNS = Number(process.env['MODELYARD_PROPERTY_RUNS'] ?? 10_000)

describe('the policy, in random histories', () => {
  it('keeps every rule at every moment, serves everybody and ends', { timeout: RUNS * 60 + 60_000 }, () => {
    const outcome = check(
      property(HISTORIES, (history) => {
        playHistory(history)
      }),
      { numRuns: RUNS },
    )
    expect({ counterexample: outcome.counterexample, error: outcome.errorInstance }).toEqual({
      counterexample: null,
      error: null,
    })
    expect(outcome.numRuns).toBe(RUNS)
  })
})
