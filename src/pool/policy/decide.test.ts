import { sample } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { playHistory } from '../simulation/play-history.ts'
import { HISTORIES } from '../simulation/random-histories.ts'
import { newWorld, sized } from '../simulation/scenario.ts'
import { requestChain } from '../simulation/conversations.ts'
import { decide } from './decide.ts'
import type { PoolEvent } from './messages.ts'
import { RULES } from './rules.ts'
import type { PoolState } from './state.ts'

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

describe('what matters to nobody', () => {
  /** For each prompt that is evaluated, so long after that: whether those who wait are looked at. There are two slots. */
  function looks(requests: number, late = 0): boolean[] {
    const prompts: { before: PoolState; event: PoolEvent }[] = []
    const world = newWorld({
      observe: ({ before, event }) => {
        if (event.type === 'prompt-evaluated' && before.runs === 2) prompts.push({ before, event })
      },
    })
    world.declare(sized('m', 40, { slots: 2 }))
    const chain = requestChain('s', 'c', 0)
    for (let count = 0; count < requests; count++) world.request({ model: 'm', chain, hold: 1000 })
    world.run(1000)
    return prompts.map(({ before, event }) => {
      let count = 0
      decide(before, { ...event, at: event.at + late }, { ...RULES, walk: () => count++ })
      return count > 0
    })
  }

  it('needs no look when nobody waits, and none when the last one found nothing to do', () => {
    expect(looks(2)).toEqual([false, false])
    // The look that granted the two slots was not the last: it changed something.
    expect(looks(3)).toEqual([true, false])
  })

  it('is not a reason to miss what time has brought about', () => {
    expect(looks(2, 3_600_000)).toEqual([true, true])
  })
})
