import { describe, expect, it } from 'vitest'
import { learnSpeed } from './context-worth.ts'

describe('how fast a disk is', () => {
  it('is told by files of a size, the newest counting most, less what each takes however small', () => {
    expect(learnSpeed(undefined, 10_000_000, 25)).toBe(1_000_000)
    expect(learnSpeed(1_000_000, 20_000_000, 25)).toBeCloseTo(1_300_000)
  })

  it('is not told by small files, nor by what took no time at all', () => {
    expect(learnSpeed(undefined, 1000, 100)).toBeUndefined()
    expect(learnSpeed(undefined, 0, 0)).toBeUndefined()
    expect(learnSpeed(700_000, 10_000_000, 0)).toBe(700_000)
    expect(learnSpeed(undefined, 10_000_000, 15)).toBe(10_000_000)
  })

  it('is never taken for so little that nothing would be parked any more, and it could not show to be faster', () => {
    expect(learnSpeed(undefined, 10_000_000, 60_000)).toBe(400_000)
    expect(learnSpeed(450_000, 10_000_000, 60_000)).toBe(400_000)
  })
})
