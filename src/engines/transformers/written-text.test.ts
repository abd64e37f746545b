import { describe, expect, it } from 'vitest'
import { WrittenText } from './written-text.ts'

const WORDS = ['a', 'red', 'house']

/** As tokenizers of words have it: spaces between, none before the first. */
function joined(tokens: readonly number[]): string {
  return tokens.map((token) => WORDS[token]).join(' ')
}

/** As tokenizers of bytes have it. */
function decoded(tokens: readonly number[]): string {
  return Buffer.from(tokens).toString('utf8')
}

function piecesOf(decode: (tokens: readonly number[]) => string, tokens: readonly number[]): string[] {
  const text = new WrittenText(decode)
  return tokens.map((token) => text.add(token))
}

describe('text of tokens, as they come', () => {
  it('has the spaces that are between tokens', () => {
    expect(piecesOf(joined, [0, 1, 2, 1])).toEqual(['a', ' red', ' house', ' red'])
  })

  it('holds a character back until it is whole, and one that never becomes whole', () => {
    const bytes = [...Buffer.from('ä🦊b')]
    expect(piecesOf(decoded, bytes)).toEqual(['', 'ä', '', '', '', '🦊', 'b'])
    expect(piecesOf(decoded, bytes.slice(0, 4))).toEqual(['', 'ä', '', ''])
  })

  it('has no white space at its ends', () => {
    const bytes = [...Buffer.from(' \n a  b \n')]
    expect(piecesOf(decoded, bytes)).toEqual(['', '', '', 'a', '', '', '  b', '', ''])
  })

  it('says nothing for tokens that are marks', () => {
    const withoutMarks = (tokens: readonly number[]): string => joined(tokens.filter((token) => token < 3))
    expect(piecesOf(withoutMarks, [9, 0, 9, 1, 9])).toEqual(['', 'a', '', ' red', ''])
  })

  it('sees few tokens at once, however long the text', () => {
    let most = 0
    const counting = (tokens: readonly number[]): string => {
      most = Math.max(most, tokens.length)
      return joined(tokens)
    }
    const pieces = piecesOf(
      counting,
      Array.from({ length: 500 }, (_, index) => index % 3),
    )
    expect(pieces.join('').length).toBe(joined(Array.from({ length: 500 }, (_, index) => index % 3)).length)
    expect(most).toBeLessThanOrEqual(3)
  })
})
