import { describe, expect, it } from 'vitest'
import type { Message } from '../../tasks/message.ts'
import { decodeConversation, encodeConversation } from './conversation-code.ts'

const TURNS: Message[] = [
  { role: 'system', content: '' },
  { role: 'user', content: 'Ä "quoted" 🙂\n' },
  { role: 'assistant', content: 'x'.repeat(1000) },
]

describe('context as numbers', () => {
  it('comes back as it went, whatever the length', () => {
    expect(decodeConversation(encodeConversation(TURNS))).toEqual(TURNS)
    for (const text of ['', 'a', 'ab', 'abc', 'abcd']) {
      const turns: Message[] = [{ role: 'user', content: text }]
      expect(decodeConversation(encodeConversation(turns))).toEqual(turns)
    }
    expect(decodeConversation([])).toEqual([])
    expect(decodeConversation(encodeConversation([]))).toEqual([])
  })

  it('has numbers that every client can hold', () => {
    expect(
      encodeConversation(TURNS).every(
        (number) => Number.isInteger(number) && number >= 0 && number < 2 ** 31,
      ),
    ).toBe(true)
  })

  it('leaves images out', () => {
    const data = new Uint8Array(3)
    const content = [
      { type: 'image' as const, mediaType: 'image/png', data },
      { type: 'text' as const, text: 'What?' },
    ]
    expect(decodeConversation(encodeConversation([{ role: 'user', content }]))).toEqual([
      { role: 'user', content: 'What?' },
    ])
  })

  const good = encodeConversation(TURNS)
  it.each([
    ['tokens of another server', [128_006, 882, 128_007]],
    ['one number changed', good.map((number, index) => (index === 3 ? number ^ 0xff_ff : number))],
    ['one number missing', good.slice(0, -1)],
    ['one number more', [...good, 0]],
    ['a wrong length', good.map((number, index) => (index === 1 ? 1e9 : number))],
    ['a huge number', good.map((number, index) => (index === 3 ? 1e12 : number))],
    ['a text', good.map((number, index) => (index === 3 ? 'x' : number))],
    ['nothing but the mark', good.slice(0, 1)],
    ['no numbers', 'abc'],
    ['turns of nobody', encodeConversation([{ role: 'tool', content: 'x', toolCallId: 'y' }])],
  ])('%s is a 400', (_what, context) => {
    expect(() => decodeConversation(context)).toThrowError(
      expect.objectContaining({ code: 'invalid_request', details: { param: 'context' } }) as Error,
    )
  })
})
