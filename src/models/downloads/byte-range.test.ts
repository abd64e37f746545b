import { describe, expect, it } from 'vitest'
import { parseContentRange, splitRanges } from './byte-range.ts'

describe('splitRanges', () => {
  it.each([
    [10, 4, 11],
    [10, 4, 10],
    [7, 3, 1],
    [1, 4, 1],
    [3, 4, 1],
    [0, 4, 1],
  ])('covers %d bytes in up to %d parts once and without gaps', (size, parts, from) => {
    const ranges = splitRanges(size, parts, from)
    expect(ranges.length).toBe(size >= from ? parts : 1)
    expect(ranges.reduce((at, { start, end }) => (start === Math.min(at, size) ? end : -1), 0)).toBe(size)
    expect(ranges.every(({ start, end, done }) => start <= end && done === 0)).toBe(true)
  })
})

describe('parseContentRange', () => {
  it('reads ranges and totals', () => {
    expect(parseContentRange('bytes 5-9/20')).toEqual({ start: 5, end: 10, total: 20 })
    expect(parseContentRange('bytes 0-0/*')).toEqual({ start: 0, end: 1, total: null })
  })

  it.each([undefined, '', 'bytes */20', 'items 0-1/2', 'bytes 1-x/3'])('gives nothing for %s', (header) => {
    expect(parseContentRange(header)).toBeUndefined()
  })
})
