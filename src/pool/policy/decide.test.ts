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

describe('what matters only to those who wait', () => {
  /** Whether they are looked at when a prompt is evaluated while so many wait for the one slot, so long after that. */
  function isLookedAt(waiting: number, late = 0): boolean {
    let last: { before: PoolState; event: PoolEvent } | undefined
    const world = newWorld({
      observe: ({ before, event }) => {
        if (event.type === 'prompt-evaluated') last ??= { before, event }
      },
    })
    world.declare(sized('m', 40))
    const chain = requestChain('s', 'c', 0)
    for (let count = 0; count <= waiting; count++) world.request({ model: 'm', chain, hold: 1000 })
    world.run(10_000)
    if (last === undefined) throw new Error('no prompt was evaluated')
    const { before, event } = last
    let looks = 0
    decide(before, { ...event, at: event.at + late }, { ...RULES, walk: () => looks++ })
    return looks > 0
  }

  it('needs no look when nobody waits', () => {
    expect(isLookedAt(0)).toBe(false)
    expect(isLookedAt(1)).toBe(true)
  })

  it('is not a reason to miss what time has brought about', () => {
    expect(isLookedAt(0, 3_600_000)).toBe(true)
  })
})
