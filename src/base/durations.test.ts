import { describe, expect, it } from 'vitest'
import { formatDuration, parseDuration, writeDuration } from './durations.ts'

describe('parseDuration', () => {
  it.each([
    [0, 0],
    ['0', 0],
    [42, 42_000],
    [42.5, 42_500],
    ['42', 42_000],
    ['42m', 2_520_000],
    ['1h30m', 5_400_000],
    ['24h', 86_400_000],
    ['250ms', 250],
    [-1, -1],
    ['-1', -1],
    ['-1m', -1],
  ])('%j is %d ms: numbers are seconds, negative is for ever (BR-36)', (value, expected) => {
    expect(parseDuration(value)).toBe(expected)
  })

  it.each(['', 'abc', '5 parsecs', '5m!', Number.NaN])(
    '%j is refused with the value in the message',
    (value) => {
      expect(() => parseDuration(value)).toThrow(`"${value}" is not a duration`)
    },
  )

  it.each([
    [0, '0s'],
    [250, '250ms'],
    [300_000, '5m'],
    [5_400_000, '1h30m'],
    [300_000_000, '3d11h20m'],
    [90_061_001, '1d1h1m1s1ms'],
  ])('%d ms is written as %j, and read as the same again', (milliseconds, text) => {
    expect(writeDuration(milliseconds)).toBe(text)
    expect(parseDuration(text)).toBe(milliseconds)
  })

  it('is shown in a unit that people read', () => {
    expect([0, 250, 4200, 300_000, 7_200_000].map(formatDuration)).toEqual([
      '0 ms',
      '250 ms',
      '4.2 s',
      '5 min',
      '2 h',
    ])
  })

  it('rounds as `toFixed` does, also what lies in the middle', () => {
    expect([1250, 1350, 1450, 59_950, 90_000].map(formatDuration)).toEqual([
      '1.3 s',
      '1.4 s',
      '1.4 s',
      '60 s',
      '1.5 min',
    ])
    const times = Array.from({ length: 59_000 }, (_, index) => 1000 + index)
    const others = times.filter((time) => formatDuration(time) !== `${Number((time / 1000).toFixed(1))} s`)
    expect(others).toEqual([])
  })
})
