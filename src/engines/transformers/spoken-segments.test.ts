import { describe, expect, it } from 'vitest'
import { cutAtMarks } from './spoken-segments.ts'

const MARK = 1000
const at = (seconds: number): number => MARK + Math.round(seconds / 0.02)

describe('cutting what Whisper heard at its marks of time', () => {
  it('makes a segment between two marks', () => {
    expect(cutAtMarks([at(0), 1, 2, at(3), at(3), 4, at(5.5)], MARK, 30, true)).toEqual({
      segments: [
        { start: 0, end: 3, tokens: [1, 2] },
        { start: 3, end: 5.5, tokens: [4] },
      ],
      next: 30,
    })
  })

  it('leaves a sentence that is not finished to the next window, from where the last finished one ended', () => {
    const heard = cutAtMarks([at(0), 1, at(20), at(21), 2, 3], MARK, 30, false)
    expect(heard).toEqual({ segments: [{ start: 0, end: 20, tokens: [1] }], next: 20 })
  })

  it('takes it as it is at the end of the sound, and where nothing else was finished', () => {
    expect(cutAtMarks([at(0), 1, at(20), at(21), 2], MARK, 25, true).segments.at(-1)).toEqual({
      start: 21,
      end: 25,
      tokens: [2],
    })
    expect(cutAtMarks([at(2), 1], MARK, 30, false)).toEqual({
      segments: [{ start: 2, end: 30, tokens: [1] }],
      next: 30,
    })
  })

  it('moves on over silence, and never stands still', () => {
    expect(cutAtMarks([], MARK, 30, false)).toEqual({ segments: [], next: 30 })
    expect(cutAtMarks([at(0), 1, at(0.2)], MARK, 30, false).next).toBe(1)
  })

  it('no mark lies beyond the window', () => {
    expect(cutAtMarks([at(0), 1, at(30)], MARK, 4, true).segments).toEqual([
      { start: 0, end: 4, tokens: [1] },
    ])
  })
})
