import { describe, expect, it } from 'vitest'
import { PrefillPace, type Width } from './prefill-pace.ts'

/** A machine that evaluates so many tokens in a millisecond. */
function paced(speed: number, batchSize = 256, flashAttention: boolean | 'auto' = 'auto'): PrefillPace {
  const pace = new PrefillPace({ batchSize, flashAttention })
  pace.enter()
  for (let count = 0; count < 8; count++) {
    const piece = pace.next(false)
    pace.record(piece, piece.tokens / speed)
  }
  return pace
}

/** Evaluates pieces on a machine of so many tokens per millisecond, on the own threads and on all cores. @returns the widths */
function widths(pace: PrefillPace, speeds: Record<Width, number>, count: number): Width[] {
  return Array.from({ length: count }, () => {
    const piece = pace.next(true)
    pace.record(piece, piece.tokens / speeds[piece.width])
    return piece.width
  })
}

describe('pieces of a prompt', () => {
  it('are small until the speed is known', () => {
    expect(new PrefillPace({ batchSize: 256, flashAttention: 'auto' }).next(false).tokens).toBe(16)
  })

  it('take about 190 ms, in steps of 16, and of 64 where that many fit', () => {
    expect(paced(0.25).next(false).tokens).toBe(48)
    expect(paced(0.5).next(false).tokens).toBe(64)
    expect(paced(1.1).next(false).tokens).toBe(192)
  })

  it('keep to steps of 16 where no tiles are to be filled', () => {
    expect(paced(0.25, 128, false).next(false).tokens).toBe(48)
    expect(paced(0.5, 128, false).next(false).tokens).toBe(80)
  })

  it('are never smaller than 16 tokens nor larger than a batch', () => {
    expect(paced(0.001).next(false).tokens).toBe(16)
    expect(paced(100).next(false).tokens).toBe(256)
    expect(paced(100, 64).next(false).tokens).toBe(64)
  })

  it('BR-13: are shared among those who evaluate prompts at the same time', () => {
    const pace = paced(1.1)
    pace.enter()
    pace.enter()
    expect(pace.next(false).tokens).toBe(64)
    pace.leave()
    pace.leave()
    expect(pace.next(false).tokens).toBe(192)
  })

  it('measure the speed of all together, so that sharing is not counted twice', () => {
    const pace = paced(0.7)
    pace.enter()
    for (let count = 0; count < 8; count++) pace.record({ tokens: 64, width: 'own' }, 183) // Two pieces of 64 in one batch.
    expect(pace.next(false).tokens).toBe(64)
  })
})

describe('all cores for a piece', () => {
  it('are taken where they are free, once the own threads have been measured', () => {
    const pace = new PrefillPace({ batchSize: 256, flashAttention: 'auto' })
    pace.enter()
    expect(widths(pace, { own: 0.1, all: 0.19 }, 4)).toEqual(['own', 'all', 'all', 'all'])
    expect(pace.next(true)).toEqual({ width: 'all', tokens: 32 })
    expect(pace.next(false)).toEqual({ width: 'own', tokens: 16 })
  })

  it('are given up where they are slower, because a program outside has a core, and tried again later', () => {
    const pace = paced(0.114)
    expect(widths(pace, { own: 0.114, all: 0.039 }, 2)).toEqual(['all', 'own'])
    expect(widths(pace, { own: 0.114, all: 0.039 }, 15)).not.toContain('all')
    expect(widths(pace, { own: 0.114, all: 0.21 }, 3)).toEqual(['all', 'all', 'all'])
  })

  it('a rest of a few tokens tells nothing of a speed', () => {
    const pace = paced(0.1)
    pace.record({ tokens: 1, width: 'own' }, 15)
    pace.record({ tokens: 3, width: 'all' }, 60)
    expect(pace.next(false).tokens).toBe(16)
    expect(pace.next(true).width).toBe('all')
  })
})
