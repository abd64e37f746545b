import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import type { Part } from '../../tasks/part.ts'
import { Outbox } from './outbox.ts'

interface Sent {
  parts: Part[]
  made: number
  done: () => void
}

function outbox(): { box: Outbox; sent: Sent[]; clock: ManualClock } {
  const sent: Sent[] = []
  const clock = new ManualClock()
  return { box: new Outbox((parts, made, done) => sent.push({ parts, made, done }), clock), sent, clock }
}

function text(value: string): Part {
  return { type: 'text', text: value }
}

describe('the outbox of a worker', () => {
  it('sends a part at once when nothing has left for 16 ms', () => {
    const { box, sent, clock } = outbox()
    box.add(text('a'))
    sent[0]?.done()
    clock.advance(16)
    box.add(text('b'))
    expect(sent.map(({ parts }) => parts)).toEqual([[text('a')], [text('b')]])
  })

  it('joins what comes during a write, and counts what was made', () => {
    const { box, sent, clock } = outbox()
    for (const value of ['a', 'b', 'c', 'd']) box.add(text(value))
    expect(sent).toHaveLength(1)
    clock.advance(16)
    expect(sent).toHaveLength(1)
    sent[0]?.done()
    expect(sent[1]).toMatchObject({ parts: [text('bcd')], made: 3 })
  })

  it('joins what comes within 16 ms, so that a fast model does not wake the server for each token', () => {
    const { box, sent, clock } = outbox()
    box.add(text('a'))
    sent[0]?.done()
    for (const value of ['b', 'c']) {
      clock.advance(7)
      box.add(text(value))
    }
    expect(sent).toHaveLength(1)
    clock.advance(2)
    expect(sent[1]).toMatchObject({ parts: [text('bc')], made: 2 })
  })

  it('does not make the first text wait for what only says that the answer begins', () => {
    const { box, sent } = outbox()
    box.add({ type: 'started', promptTokens: 1, cachedTokens: 0 })
    box.add(text('a'))
    sent[0]?.done()
    expect(sent[1]?.parts).toEqual([text('a')])
  })

  it('lets a flood through at once, which would only wait for its reader otherwise', () => {
    const { box, sent } = outbox()
    box.add(text('a'))
    sent[0]?.done()
    for (let count = 0; count < 16; count++) box.add(text('b'))
    expect(sent[1]).toMatchObject({ made: 16 })
  })

  it('sends the rest at once at the end, and not a second time when its frame has passed', () => {
    const { box, sent, clock } = outbox()
    box.add(text('a'))
    sent[0]?.done()
    box.add(text('b'))
    box.flush()
    sent[1]?.done()
    clock.advance(100)
    expect(sent.map(({ parts }) => parts)).toEqual([[text('a')], [text('b')]])
  })

  it('joins texts and reasoning only with their own kind, and never over another part or logprobs', () => {
    const { box, sent, clock } = outbox()
    box.add(text('first'))
    const call: Part = { type: 'tool-call', index: 0, id: 'x', name: 'f' }
    const probed: Part = { type: 'text', text: 'p', logprobs: [] }
    const parts: Part[] = [
      text('a'),
      { type: 'reasoning', text: 'r' },
      { type: 'reasoning', text: 's' },
      call,
    ]
    for (const part of [...parts, text('b'), probed, probed, text('c'), text('')]) box.add(part)
    clock.advance(16)
    sent[0]?.done()
    expect(sent[1]?.parts).toEqual([
      text('a'),
      { type: 'reasoning', text: 'rs' },
      call,
      text('b'),
      probed,
      probed,
      text('c'),
    ])
    expect(sent[1]?.made).toBe(9)
  })

  it('does not change a part that was handed in', () => {
    const { box } = outbox()
    box.add(text('first'))
    const second = text('b')
    box.add(second)
    box.add(text('c'))
    expect(second).toEqual(text('b'))
  })

  it('sends nothing when there is nothing', () => {
    const { box, sent } = outbox()
    box.flush()
    box.add(text('a'))
    sent[0]?.done()
    sent[0]?.done()
    expect(sent).toHaveLength(1)
  })
})
