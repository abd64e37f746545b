import { check, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { playHistory } from '../simulation/play-history.ts'
import { HISTORIES } from '../simulation/random-histories.ts'
import { decide } from './decide.ts'

const DEFAULT_RUNS = 10_000
const RUNS = Number(process.env['MODELYARD_PROPERTY_RUNS'] ?? DEFAULT_RUNS)

/** The default run plays the same histories each time, so that what fails was broken by the change at hand; a longer run looks for what nobody has seen. */
const SEED = RUNS > DEFAULT_RUNS ? {} : { seed: 20_261_130 }

/** As it is, with all that hangs from it; what was frozen before is not looked at again. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (value instanceof Map) Object.assign(value, { set: refuse, delete: refuse, clear: refuse })
  Object.freeze(value)
  for (const part of value instanceof Map ? value.values() : Object.values(value)) frozen(part)
  return value
}

function refuse(): never {
  throw new Error('a map of a state that was handed on is changed')
}

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

  it('never changes a state that was handed on', () => {
    const outcome = check(
      property(HISTORIES, (history) => {
        playHistory(history, { decide: (state, event) => decide(frozen(state), event) })
      }),
      { numRuns: 200, seed: 1 },
    )
    expect(outcome.errorInstance).toBeNull()
  })
})
