import { describe, expect, it } from 'vitest'
import { tokenBytes, writingOf } from './token-bytes.ts'

const NORMAL = 1
const CONTROL = 3
const USER_DEFINED = 4
const BYTE = 6

describe('the bytes of a token', () => {
  it.each<[string, string, number[]]>([
    ['a word with a space before it', '\u0120the', [0x20, 0x74, 0x68, 0x65]],
    ['half an emoji', '\u00f0\u0141', [0xf0, 0x9f]],
    ['a line end', '\u010a', [0x0a]],
    ['a letter with an accent', '\u00c3\u00a9', [0xc3, 0xa9]],
  ])('in a byte-level list: %s', (_, written, bytes) => {
    expect([...tokenBytes(written, NORMAL, 'byte-level')]).toEqual(bytes)
  })

  it('in a list with escaped spaces', () => {
    expect(Buffer.from(tokenBytes('\u2581the', NORMAL, 'escaped-spaces')).toString()).toBe(' the')
    expect(Buffer.from(tokenBytes('é', NORMAL, 'escaped-spaces')).toString()).toBe('é')
    expect([...tokenBytes('<0xF0>', BYTE, 'escaped-spaces')]).toEqual([0xf0])
  })

  it('of tokens that stand for themselves', () => {
    expect(Buffer.from(tokenBytes('<tool_call>', USER_DEFINED, 'byte-level')).toString()).toBe('<tool_call>')
    expect(Buffer.from(tokenBytes(' 你', USER_DEFINED, 'byte-level')).toString()).toBe(' 你')
    expect(Buffer.from(tokenBytes('<|end|>', CONTROL, 'byte-level')).toString()).toBe('<|end|>')
  })

  it('of a token with a character that no byte has are its own', () => {
    expect(Buffer.from(tokenBytes('你', NORMAL, 'byte-level')).toString()).toBe('你')
  })

  it('are written as the list shows', () => {
    expect(writingOf(['a', '\u0120', '\u0120the'])).toBe('byte-level')
    expect(writingOf(['<unk>', '\u2581the'])).toBe('escaped-spaces')
  })
})
