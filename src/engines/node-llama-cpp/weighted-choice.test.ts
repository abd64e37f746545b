import { describe, expect, it } from 'vitest'
import type { ResolvedSampling } from '../llama-cpp/resolve-sampling.ts'
import { WeightedChoice } from './weighted-choice.ts'

const ALL: ResolvedSampling = {
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  seed: 1,
  repeatPenalty: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
}
const DISTRIBUTION = new Map([
  [7, 0.5],
  [3, 0.3],
  [9, 0.15],
  [1, 0.05],
])

function shares(changes: Partial<ResolvedSampling>, draws = 20_000): Record<number, number> {
  const choice = new WeightedChoice({ ...ALL, ...changes })
  const counts: Record<number, number> = {}
  for (let count = 0; count < draws; count++) {
    const token = choice.pick(DISTRIBUTION)
    counts[token] = (counts[token] ?? 0) + 1 / draws
  }
  return counts
}

describe('choosing by weight', () => {
  it('gives each token its share', () => {
    const drawn = shares({})
    for (const [token, share] of DISTRIBUTION) expect(drawn[token]).toBeCloseTo(share, 1)
  })

  it('temperature 0 takes the likeliest, a low one nearly always, a high one evens out', () => {
    expect(shares({ temperature: 0 }, 50)).toEqual({ 7: expect.closeTo(1, 5) as number })
    expect(shares({ temperature: 0.1 })[7]).toBeGreaterThan(0.98)
    expect(shares({ temperature: 100 })[1]).toBeCloseTo(0.25, 1)
    expect(shares({ temperature: 0.001 }, 50)[7]).toBeCloseTo(1, 5)
  })

  it('top-k, top-p and min-p leave only the likeliest', () => {
    expect(Object.keys(shares({ topK: 2 }, 2000))).toEqual(['3', '7'])
    expect(Object.keys(shares({ topP: 0.79 }, 2000))).toEqual(['3', '7'])
    expect(Object.keys(shares({ topP: 0.81 }, 2000))).toEqual(['3', '7', '9'])
    expect(Object.keys(shares({ minP: 0.31 }, 2000))).toEqual(['3', '7'])
    expect(Object.keys(shares({ topP: 0 }, 50))).toEqual(['7'])
    expect(Object.keys(shares({ topK: 1, temperature: 50 }, 50))).toEqual(['7'])
  })

  it('the same seed gives the same choices', () => {
    const drawn = (seed: number): number[] => {
      const choice = new WeightedChoice({ ...ALL, seed })
      return Array.from({ length: 20 }, () => choice.pick(DISTRIBUTION))
    }
    expect(drawn(0)).toEqual(drawn(0))
    expect(drawn(0)).not.toEqual(drawn(4_294_967_295))
  })
})
