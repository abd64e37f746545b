import { check, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { playHistory } from '../simulation/play-history.ts'
import { HISTORIES } from '../simulation/random-histories.ts'

const DEFAULT_RUNS = 10_000
const RUNS = Number(process.env['MODELYARD_PROPERTY_RUNS'] ?? DEFAULT_RUNS)

/** The default run plays the same histories each time, so that what fails was broken by the change at hand; a longer run looks for what nobody has seen. */
const SEED = RUNS > DEFAULT_RUNS ? {} : { seed: 20_261_130 }

describe('the policy, in random histories', () => {
  it('keeps every rule at every moment, serves everybody and ends', { timeout: RUNS * 60 + 60_000 }, () => {
    let events = 0
    const outcome = check(
      property(HISTORIES, (history) => {
        events += playHistory(history).events
      }),
      { numRuns: RUNS, ...SEED },
    )
    expect({ counterexample: outcome.counterexample, error: outcome.errorInstance }).toEqual({
      counterexample: null,
      error: null,
    })
    expect(outcome.numRuns).toBe(RUNS)
    console.log(`${events} simulated events in ${RUNS} random histories, every rule kept at each of them`)
    // 200,000 histories, as `npm run test:properties` plays, are far more than a million events.
    expect(events).toBeGreaterThan(20 * RUNS)
  })
})
