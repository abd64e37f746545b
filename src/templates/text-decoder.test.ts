import { describe, expect, it } from 'vitest'
import * as fc from 'fast-check'
import { TokenTextDecoder } from './text-decoder.ts'

function decodeAll(tokens: readonly (readonly number[])[]): string[] {
  const decoder = new TokenTextDecoder()
  return tokens.map((token) => decoder.write(Uint8Array.from(token)))
}

const LONE_SURROGATE = /\p{Cs}/u

const oneBytePieces = (text: string): number[][] => [...Buffer.from(text, 'utf8')].map((byte) => [byte])

describe('TokenTextDecoder', () => {
  it('holds the bytes of a character back until it is whole (BR-02)', () => {
    const pieces = decodeAll([[0x20, 0xf0, 0x9f], [0x98, 0xb8], [0xe4, 0xbd], [0xa0]])
    expect(pieces).toEqual([' ', '😸', '', '你'])
  })

  it('lets a family emoji through code point by code point, one byte per token (BR-02)', () => {
    const family = '👨‍👩‍👧'
    const pieces = decodeAll(oneBytePieces(family))
    expect(pieces.join('')).toBe(family)
    for (const piece of pieces) expect(piece).not.toMatch(LONE_SURROGATE)
  })

  it('drops an unfinished character at the end and can be used again', () => {
    const decoder = new TokenTextDecoder()
    expect(decoder.write(Uint8Array.of(0x61, 0xf0, 0x9f))).toBe('a')
    decoder.end()
    expect(decoder.write(Uint8Array.of(0x62))).toBe('b')
  })

  it('keeps a byte order mark, which is text like any other here', () => {
    expect(decodeAll([[0xef, 0xbb, 0xbf, 0x61]])).toEqual(['\uFEFFa'])
  })

  it('replaces bytes that can never become a character and goes on', () => {
    expect(decodeAll([[0xff], [0x61]]).join('')).toBe('\uFFFDa')
  })

  it('gives the same text whatever the borders of the tokens are', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.array(fc.nat(7)), (text, cuts) => {
        const bytes = Buffer.from(text, 'utf8')
        const decoder = new TokenTextDecoder()
        let joined = ''
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = 1 + (cuts[turn % Math.max(1, cuts.length)] ?? 0)
          const piece = decoder.write(bytes.subarray(at, at + size))
          expect(piece).not.toMatch(LONE_SURROGATE)
          joined += piece
          at += size
        }
        expect(joined).toBe(bytes.toString('utf8'))
      }),
    )
  })
})
