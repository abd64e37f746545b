import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonErrorOffset } from './json-syntax.ts'

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('jsonErrorOffset', () => {
  it.each([
    ['{"a": 1,}', 8],
    ['{"a": 1 "b": 2}', 8],
    ['{a: 1}', 1],
    ["{'a': 1}", 1],
    ['[1, 2', 5],
    ['{"a": tru}', 6],
    ['{"a": 01}', 7],
    ['{"a": 1} x', 9],
    ['', 0],
    ['"a\nb"', 0],
  ])('finds where %j stops being JSON', (text, offset) => {
    expect(jsonErrorOffset(text)).toBe(offset)
  })

  it('agrees with JSON.parse on what is JSON, whole or damaged', () => {
    const damaged = fc.tuple(fc.json(), fc.nat(), fc.string({ maxLength: 2 })).map(([text, at, junk]) => {
      const place = at % (text.length + 1)
      return text.slice(0, place) + junk + text.slice(place + 1)
    })
    fc.assert(
      fc.property(fc.oneof(fc.json(), damaged), (text) => {
        expect(jsonErrorOffset(text) === undefined).toBe(isJson(text))
      }),
      { numRuns: 3000 },
    )
  })

  it('does not overflow the stack on nesting without end', () => {
    expect(jsonErrorOffset('['.repeat(100_000))).toBeGreaterThan(0)
  })
})
