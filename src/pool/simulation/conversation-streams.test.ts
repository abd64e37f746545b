import { describe, expect, it } from 'vitest'
import { heldMemory } from '../../../test/held-memory.ts'
import { sharedBlocks } from '../../tasks/fingerprint.ts'
import { ConversationStreams } from './conversation-streams.ts'
import type { SharedTokens, TraceRequest } from './trace.ts'

const request = (conversation: string, turn: number, more: Partial<TraceRequest> = {}): TraceRequest => ({
  at: 0,
  model: 'm',
  hold: 1,
  conversation,
  turn,
  ...more,
})

/** Tokens that two requests have in common. */
function shared(
  streams: ConversationStreams,
  [one, turn]: [string, number],
  [other, later]: [string, number],
): number {
  const { answered } = streams.request(one, turn)
  const { chain } = streams.request(other, later)
  const count = sharedBlocks(answered, chain)
  return count === 0 ? 0 : (chain[count - 1]?.end ?? 0) / 4
}

const ends = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

const agents = (count: number, beginning: SharedTokens): TraceRequest[] =>
  Array.from({ length: count }, (_, index) =>
    request(`agent ${index}`, 0, { tokens: 1600 + index, beginning }),
  )

describe('the beginnings of conversations in a trace', () => {
  it('are the same tokens for all that name them, and no more of them', () => {
    const streams = new ConversationStreams(agents(3, { of: 'system', tokens: 1450 }))
    expect(shared(streams, ['agent 0', 0], ['agent 1', 0])).toBe(1450)
    expect(shared(streams, ['agent 2', 0], ['agent 1', 0])).toBe(1450)
    expect(streams.request('agent 1', 0).chain.at(-1)?.end).toBe(1601 * 4)
  })

  it('are those of another conversation, whole turns and parts of them', () => {
    const streams = new ConversationStreams([
      request('a', 0, { tokens: 1000 }),
      request('a', 1, { tokens: 3000 }),
      request('branch', 0, { tokens: 3500, beginning: { of: 'a', tokens: 2500 } }),
      request('early', 0, { tokens: 900, beginning: { of: 'branch', tokens: 700 } }),
    ])
    expect(shared(streams, ['a', 1], ['branch', 0])).toBe(2500)
    // The answer to the first turn ends half-way to the second one.
    expect(shared(streams, ['a', 0], ['branch', 0])).toBe(2000)
    expect(shared(streams, ['a', 0], ['early', 0])).toBe(700)
    expect(shared(streams, ['branch', 0], ['early', 0])).toBe(700)
  })

  it('are whole where a conversation goes on, and none where nothing is said to be shared', () => {
    const streams = new ConversationStreams([
      request('a', 0, { tokens: 0 }),
      request('a', 1, { tokens: 500 }),
      request('a', 2),
      request('b', 0, { tokens: 500 }),
    ])
    const first = streams.request('a', 0)
    expect(first.chain).toHaveLength(1)
    expect(sharedBlocks(first.answered, streams.request('a', 1).chain)).toBe(2)
    expect(shared(streams, ['a', 1], ['a', 2])).toBe(750)
    expect(shared(streams, ['b', 0], ['a', 2])).toBe(0)
  })

  it('are their own whatever a conversation is called', () => {
    const streams = new ConversationStreams([request('\0', 0), request('', 0), request('b', 0)])
    expect(shared(streams, ['\0', 0], ['b', 0])).toBe(250)
    expect(shared(streams, ['', 0], ['\0', 0])).toBe(250)
    expect(streams.request('\0', 0).chain.map(({ end }) => end)).toEqual([1000, 2000])
  })

  it('are found along a chain of any length', () => {
    const requests = Array.from({ length: 12_000 }, (_, index) =>
      request(`c${index}`, 0, { tokens: 100, beginning: { of: `c${index + 1}`, tokens: 5 } }),
    )
    const { chain } = new ConversationStreams(requests).request('c0', 0)
    expect(chain.map(({ end }) => end / 4)).toEqual([5, 100])
  })

  it('take no room of their own in those that share them, however many and deep', () => {
    const deep = 1000
    const requests = Array.from({ length: deep }, (_, index) =>
      request(`c${index}`, 0, {
        tokens: index + 1,
        ...(index > 0 && { beginning: { of: `c${index - 1}`, tokens: index } }),
      }),
    )
    const leaf = (index: number): TraceRequest =>
      request(`leaf ${index}`, 0, { tokens: 5000, beginning: { of: `c${deep - 1}`, tokens: deep } })
    const streams = new ConversationStreams([
      ...requests,
      ...Array.from({ length: 10_000 }, (_, i) => leaf(i)),
    ])
    const before = heldMemory()
    for (let index = 0; index < 10_000; index++) {
      streams.request(`leaf ${index}`, 0)
    }
    // Their chains are 80 MB.
    expect(heldMemory() - before).toBeLessThan(20_000_000)
    const { chain } = streams.request('leaf 7', 0)
    expect(chain.map(({ end }) => end / 4)).toEqual([...ends(deep), 5000])
  })

  it('are found among very many that leave one', () => {
    const many = 200_000
    const requests = Array.from({ length: many }, (_, index) =>
      request(`leaf ${index}`, 0, { tokens: many * 2, beginning: { of: 'system', tokens: index + 1 } }),
    )
    const streams = new ConversationStreams(requests)
    expect(streams.request(`leaf ${many - 1}`, 0).chain).toHaveLength(many + 1)
    expect(streams.request('leaf 2', 0).chain.map(({ end }) => end / 4)).toEqual([1, 2, 3, many * 2])
  })

  it('have a message in common where no conversation says how many tokens it has', () => {
    const streams = new ConversationStreams([request('a', 0), request('a', 1), request('b', 0)])
    expect(streams.request('a', 1).chain.map(({ end }) => end)).toEqual([1000, 2000, 3000, 4000])
    expect(shared(streams, ['a', 0], ['a', 1])).toBe(750)
    expect(shared(streams, ['a', 0], ['b', 0])).toBe(250)
  })
})
