import { describe, expect, it } from 'vitest'
import { WholeText } from './whole-text.ts'

describe('BR-02: characters that come in halves', () => {
  it('holds the first half back until the second comes', () => {
    const text = new WholeText()
    expect([text.push('a\uD83D'), text.push('\uDE38'), text.push('b'), text.end()]).toEqual([
      'a',
      '😸',
      'b',
      '',
    ])
  })

  it('replaces half a character at the end once', () => {
    const text = new WholeText()
    expect([text.push('\uD83D'), text.end(), text.end()]).toEqual(['', '\uFFFD', ''])
  })

  it('keeps a family joined by ZWJ together, unit by unit', () => {
    const family = '👩‍👩‍👧'
    const text = new WholeText()
    const pieces = family.split('').map((unit) => text.push(unit))
    expect(pieces.join('') + text.end()).toBe(family)
    expect(pieces.every((piece) => !/[\uD800-\uDBFF]$/.test(piece))).toBe(true)
  })

  it('passes an empty piece', () => {
    expect(new WholeText().push('')).toBe('')
  })
})
