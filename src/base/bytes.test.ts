import { describe, expect, it } from 'vitest'
import { formatBytes, parseBytes } from './bytes.ts'

describe('parseBytes', () => {
  it.each([
    [0, 0],
    ['0', 0],
    [1024, 1024],
    ['6GiB', 6 * 1024 ** 3],
    ['512 MB', 512e6],
    ['1.5g', 1.5 * 1024 ** 3],
  ])('%j is %d bytes', (value, expected) => {
    expect(parseBytes(value)).toBe(expected)
  })

  it.each(['', '-1', 'many', '6 apples', Number.NaN, -1])('%j is refused', (value) => {
    expect(() => parseBytes(value)).toThrow('is not a size')
  })

  it('is shown in a unit that people read', () => {
    expect([0, 1023, 1536, 6 * 1024 ** 3].map(formatBytes)).toEqual(['0 B', '1023 B', '1.5 KiB', '6 GiB'])
  })
})
