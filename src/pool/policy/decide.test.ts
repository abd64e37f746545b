import { sample } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { playHistory } from '../simulation/play-history.ts'
import { HISTORIES } from '../simulation/random-histories.ts'
import { decide } from './decide.ts'

/** Makes everything that hangs from a value unchangeable. */
function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  if (value instanceof Map) for (const item of value.values()) deepFreeze(item)
  else for (const item of Object.values(value)) deepFreeze(item)
}

const histories = sample(HISTORIES, { numRuns: 150, seed: 7 })

describe('decide (R1)', () => {
  it('changes nothing in place', () => {
    for (const history of histories) {
      playHistory(history, {
        decide: (state, event) => {
          deepFreeze(state)
          deepFreeze(event)
          return decide(state, event)
        },
      })
    }
    expect(histories.length).toBe(150)
  })

  it('decides the same on the same history', () => {
    for (const history of histories) {
      const [first, second] = [1, 2].map(() => {
        const decisions: string[] = []
        playHistory(history, { observe: ({ decision }) => decisions.push(JSON.stringify(decision.commands)) })
        return decisions
      })
      expect(second).toEqual(first)
    }
  })
})
