import { describe, expect, it } from 'vitest'
import type { Fingerprint } from '../tasks/fingerprint.ts'
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

  it('branch where a request goes on differently from what another one went on from', () => {
    const numbers = new ConversationNumbers()
    const block = (hash: string, index: number): { hash: string; end: number } => ({
      hash,
      end: 100 * (index + 1),
    })
    const chain = (...hashes: string[]): Fingerprint => hashes.map(block)
    expect(numbers.turnOf(chain('system', 'question'))).toEqual({ conversation: 1, turn: 0 })
    numbers.note(chain('system', 'question', 'answer'), { conversation: 1, turn: 0 })
    const first = chain('system', 'question', 'answer', 'more')
    const branch = chain('system', 'question', 'answer', 'other')
    expect(numbers.turnOf(first)).toEqual({ conversation: 1, turn: 1 })
    const turn = { conversation: 2, turn: 0 }
    expect(numbers.turnOf(branch)).toEqual(turn)
    expect(numbers.beginningOf(branch, turn, 400)).toEqual({ of: 1, tokens: 300 })
    expect(numbers.turnOf(branch)).toEqual(turn)
    expect(numbers.turnOf(chain('system', 'question', 'answer', 'other', 'x', 'y'))).toEqual({
      conversation: 2,
      turn: 1,
    })
  })

  it('know what they begin with that an earlier one had, and leave it at one place', () => {
    const numbers = new ConversationNumbers()
    const [one, two, three] = ['one', 'two', 'three'].map((name) => requestChain('s', name, 0))
    for (const [chain = [], tokens, beginning] of [
      [one, 1500, undefined],
      [two, 1500, { of: 1, tokens: 750 }],
      // Its own share would be 800.
      [three, 1600, { of: 1, tokens: 750 }],
      [two, 1500, { of: 1, tokens: 750 }],
    ] as const) {
      const turn = numbers.turnOf(chain)
      expect(turn && numbers.beginningOf(chain, turn, tokens)).toEqual(beginning)
    }
  })

  it('begin with nothing of others where no token is shared', () => {
    const numbers = new ConversationNumbers()
    numbers.turnOf(requestChain('s', 'one', 0))
    const chain = requestChain('s', 'two', 0)
    const turn = { conversation: 2, turn: 0 }
    expect(numbers.beginningOf([], turn, 0)).toBeUndefined()
    expect(numbers.beginningOf(chain, turn, 0)).toBeUndefined()
    expect(numbers.beginningOf(requestChain('t', 'two', 0), turn, 500)).toBeUndefined()
    expect(numbers.beginningOf(chain, turn, 500)).toEqual({ of: 1, tokens: 250 })
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
