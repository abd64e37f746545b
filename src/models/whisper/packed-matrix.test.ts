import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import { Pace, packMatrix } from './packed-matrix.ts'

/** Time passes by itself; counts how often others had their turn. */
class TurnClock extends ManualClock {
  turns = 0

  override setTimer(milliseconds: number, callback: () => void): { cancel: () => void } {
    this.turns++
    const timer = super.setTimer(milliseconds, callback)
    queueMicrotask(() => this.advance(milliseconds))
    return timer
  }
}

const NEVER = new AbortController().signal

describe('a matrix in eight bits', () => {
  const values = Float32Array.of(1, -1, 0.5, 0, 0, 0)

  it('has rows around 128 with a scale for each', async () => {
    const { bytes, scales } = await packMatrix(values, 3, false, new Pace(new ManualClock(), NEVER))
    expect([...bytes]).toEqual([255, 1, 192, 128, 128, 128])
    expect([...scales]).toEqual([Math.fround(1 / 127), 1])
  })

  it('turned, has them as columns', async () => {
    const { bytes, scales } = await packMatrix(values, 3, true, new Pace(new ManualClock(), NEVER))
    expect([...bytes]).toEqual([255, 128, 1, 128, 192, 128])
    expect(scales.length).toBe(2)
  })
})

describe('work on many numbers', () => {
  it('lets others have their turn every million numbers, however they are cut into matrices', async () => {
    const clock = new TurnClock()
    const pace = new Pace(clock, NEVER)
    let rows = 0
    for (let matrix = 0; matrix < 10; matrix++) {
      await pace.inPieces(600, 1000, (from, to) => {
        rows += to - from
      })
    }
    expect(rows).toBe(6000)
    expect(clock.turns).toBe(5)
    await pace.inPieces(3500, 1000, (from, to) => expect(to - from).toBeLessThanOrEqual(1000))
    expect(clock.turns).toBeGreaterThanOrEqual(8)
  })

  it('ends when it is given up', async () => {
    const abort = new AbortController()
    const pace = new Pace(new TurnClock(), abort.signal)
    let pieces = 0
    const work = pace.inPieces(5000, 1000, () => {
      if (++pieces === 2) abort.abort(new Error('given up'))
    })
    await expect(work).rejects.toThrow('given up')
    expect(pieces).toBe(2)
  })
})
