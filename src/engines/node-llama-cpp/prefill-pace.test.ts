import { describe, expect, it } from 'vitest'
import { PrefillPace } from './prefill-pace.ts'

/** A machine that evaluates so many tokens in a millisecond. */
function paced(speed: number, batchSize = 256, flashAttention: boolean | 'auto' = 'auto'): PrefillPace {
  const pace = new PrefillPace({ batchSize, flashAttention })
  pace.enter()
  for (let count = 0; count < 8; count++) pace.record(pace.piece, pace.piece / speed)
  return pace
}

describe('pieces of a prompt', () => {
  it('are small until the speed is known', () => {
    expect(new PrefillPace({ batchSize: 256, flashAttention: 'auto' }).piece).toBe(16)
  })

  it('take about 190 ms, in steps of 16, and of 64 where that many fit', () => {
    expect(paced(0.25).piece).toBe(48)
    expect(paced(0.5).piece).toBe(64)
    expect(paced(1.1).piece).toBe(192)
  })

  it('keep to steps of 16 where no tiles are to be filled', () => {
    expect(paced(0.25, 128, false).piece).toBe(48)
    expect(paced(0.5, 128, false).piece).toBe(80)
  })

  it('are never smaller than 16 tokens nor larger than a batch', () => {
    expect(paced(0.001).piece).toBe(16)
    expect(paced(100).piece).toBe(256)
    expect(paced(100, 64).piece).toBe(64)
  })

  it('BR-13: are shared among those who evaluate prompts at the same time', () => {
    const pace = paced(1.1)
    pace.enter()
    pace.enter()
    expect(pace.piece).toBe(64)
    pace.leave()
    pace.leave()
    expect(pace.piece).toBe(192)
  })

  it('measure the speed of all together, so that sharing is not counted twice', () => {
    const pace = paced(0.7)
    pace.enter()
    for (let count = 0; count < 8; count++) pace.record(64, 183) // Two pieces of 64 in one batch.
    expect(pace.piece).toBe(64)
  })
})
