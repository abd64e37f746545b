import { describe, expect, it } from 'vitest'
import { answeredChain, requestChain } from './simulation/conversations.ts'
import { ConversationNumbers } from './conversation-numbers.ts'

describe('conversations as numbers', () => {
  it('go on where what was asked or answered begins a longer request', () => {
    const numbers = new ConversationNumbers()
    const first = numbers.turnOf(requestChain('s', 'one', 0))
    expect(first).toEqual({ conversation: 1, turn: 0 })
    if (first !== undefined) numbers.note(answeredChain(requestChain('s', 'one', 0)), first)
    expect(numbers.turnOf(requestChain('s', 'two', 0))).toEqual({ conversation: 2, turn: 0 })
    expect(numbers.turnOf(requestChain('s', 'one', 1))).toEqual({ conversation: 1, turn: 1 })
    expect(numbers.turnOf(requestChain('s', 'one', 1))).toEqual({ conversation: 1, turn: 1 })
    expect(numbers.turnOf(requestChain('s', 'one', 2))).toEqual({ conversation: 1, turn: 2 })
  })

  it('have no number where nothing is shared', () => {
    expect(new ConversationNumbers().turnOf([])).toBeUndefined()
  })

  it('forget the oldest of many', () => {
    const numbers = new ConversationNumbers()
    for (let index = 0; index < 10_001; index++) numbers.turnOf([{ hash: String(index), end: 1 }])
    expect(numbers.turnOf([{ hash: '1', end: 1 }])).toEqual({ conversation: 2, turn: 0 })
    expect(numbers.turnOf([{ hash: '0', end: 1 }])).toEqual({ conversation: 10_002, turn: 0 })
  })
})
