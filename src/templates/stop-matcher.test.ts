import { describe, expect, it } from 'vitest'
import * as fc from 'fast-check'
import { StopMatcher } from './stop-matcher.ts'

function feed(stops: string[], pieces: string[]): { out: string[]; matched: string | undefined } {
  const matcher = new StopMatcher(stops)
  const out: string[] = []
  for (const piece of pieces) out.push(matcher.write(piece))
  out.push(matcher.end())
  return { out, matched: matcher.matched }
}

describe('StopMatcher', () => {
  it('finds a stop string that lies across three pieces, and leaks no part of it (BR-41)', () => {
    const { out, matched } = feed(['beta gamma'], ['alpha', ' be', 'ta ga', 'mma delta'])
    expect(out).toEqual(['alpha', ' ', '', '', ''])
    expect(matched).toBe('beta gamma')
  })

  it('releases what was held back as soon as no match can come (BR-41)', () => {
    expect(feed(['beta gamma'], ['alpha', ' be', 'ta', ' go']).out).toEqual(['alpha', ' ', '', 'beta go', ''])
  })

  it('releases what was held back when the text ends', () => {
    expect(feed(['STOP'], ['a ST'])).toEqual({ out: ['a ', 'ST'], matched: undefined })
  })

  it('takes the stop that is complete first, when one is the beginning of another (BR-41)', () => {
    expect(feed(['ab', 'abcd'], ['xabcd'])).toEqual({ out: ['x', ''], matched: 'ab' })
  })

  it('takes the longer of two that are complete at once', () => {
    expect(feed(['b', 'ab'], ['xab'])).toEqual({ out: ['x', ''], matched: 'ab' })
  })

  it('ignores empty stop strings, and passes everything on without any', () => {
    expect(feed([''], ['a', 'b']).out).toEqual(['a', 'b', ''])
    expect(feed([], ['a', 'b']).out).toEqual(['a', 'b', ''])
  })

  it('says nothing more after the match', () => {
    expect(feed(['!'], ['a!b', 'c'])).toEqual({ out: ['a', '', ''], matched: '!' })
  })

  it('finds a repeating beginning again from its middle', () => {
    expect(feed(['aab'], ['a', 'a', 'a', 'b']).out.join('')).toBe('a')
  })

  it('gives the same text and the same stop whatever the borders of the pieces are', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '😀'), maxLength: 12 })
    fc.assert(
      fc.property(letters, fc.array(letters, { maxLength: 4 }), fc.array(fc.nat(3)), (text, stops, cuts) => {
        const pieces: string[] = []
        const units = Array.from(text)
        for (let at = 0, turn = 0; at < units.length; turn++) {
          const size = 1 + (cuts[turn % Math.max(1, cuts.length)] ?? 0)
          pieces.push(units.slice(at, at + size).join(''))
          at += size
        }
        const whole = feed(stops, [text])
        const cut = feed(stops, pieces)
        expect(cut.out.join('')).toBe(whole.out.join(''))
        expect(cut.matched).toBe(whole.matched)
        for (const stop of stops.filter((entry) => entry !== '')) expect(cut.out.join('')).not.toContain(stop)
      }),
      { numRuns: 2000 },
    )
  })
})
