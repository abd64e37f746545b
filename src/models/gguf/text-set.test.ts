import { describe, expect, it } from 'vitest'
import { TextSet } from './text-set.ts'

function addTo(set: TextSet, text: string): boolean {
  const bytes = Buffer.from(text)
  return set.add(bytes, 0, bytes.length)
}

describe('TextSet', () => {
  it('knows each of 300,000 different texts from all others, and each again', () => {
    const set = new TextSet()
    const texts = Array.from({ length: 300_000 }, (_, index) => `▁${index.toString(36)}`)
    expect(texts.filter((text) => !addTo(set, text))).toEqual([])
    expect(texts.filter((text) => addTo(set, text))).toEqual([])
  })

  it('tells texts of zero bytes apart by their length', () => {
    const set = new TextSet()
    expect([1, 2, 3, 2].map((length) => set.add(Buffer.alloc(length), 0, length))).toEqual([
      true,
      true,
      true,
      false,
    ])
  })

  it('reads only the given range', () => {
    const set = new TextSet()
    const bytes = Buffer.from('abcabc')
    expect(set.add(bytes, 0, 3)).toBe(true)
    expect(set.add(bytes, 3, 6)).toBe(false)
  })
})
