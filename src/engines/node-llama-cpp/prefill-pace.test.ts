import { describe, expect, it } from 'vitest'
import { PrefillPace } from './prefill-pace.ts'

/** A machine that evaluates so many tokens in a millisecond, one slot at it. */
function paced(speed: number, batchSize = 1024): PrefillPace {
  const pace = new PrefillPace(batchSize)
  pace.enter()
  for (let count = 0; count < 12; count++) pace.record(pace.piece, pace.piece / speed)
  return pace
}

/** The next piece while so many runs are on the model's slots. */
async function pieceAmong(runs: number, pace: PrefillPace): Promise<number> {
  const nested = async (depth: number): Promise<number> =>
    depth === 0 ? pace.piece : pace.during(async () => nested(depth - 1))
  return nested(runs)
}

describe('pieces of a prompt', () => {
  it('are small until the speed is known', () => {
    expect(new PrefillPace(256).piece).toBe(16)
  })

  it('take about 190 ms when others wait for tokens, and twice that when nobody does', async () => {
    expect(await pieceAmong(2, paced(1))).toBe(192)
    expect(await pieceAmong(1, paced(1))).toBe(400)
    expect(await pieceAmong(2, paced(0.5))).toBe(96)
  })

  it('are smaller again as soon as another run comes, and larger when it is over', async () => {
    const pace = paced(1)
    await pace.during(async () => {
      expect(pace.piece).toBe(400)
      expect(await pieceAmong(1, pace)).toBe(192)
      await expect(pace.during(async () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
      expect(pace.piece).toBe(400)
    })
  })

  it('are never smaller than 16 tokens nor larger than a batch', () => {
    expect(paced(0.001).piece).toBe(16)
    expect(paced(100, 256).piece).toBe(256)
    expect(paced(100, 64).piece).toBe(64)
  })

  it('BR-13: are shared among those who evaluate prompts at the same time', async () => {
    const pace = paced(1)
    pace.enter()
    pace.enter()
    expect(await pieceAmong(3, pace)).toBe(64)
    pace.leave()
    expect(await pieceAmong(2, pace)).toBe(96)
  })

  it('measure the speed of all together, so that sharing is not counted twice', async () => {
    const pace = paced(1)
    pace.enter()
    for (let count = 0; count < 8; count++) pace.record(96, 192) // Two pieces of 96 in one batch.
    expect(await pieceAmong(2, pace)).toBe(96)
  })
})
