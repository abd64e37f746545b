import { describe, expect, it } from 'vitest'
import type { Part } from '../../tasks/part.ts'
import { Outbox } from './outbox.ts'

interface Sent {
  parts: Part[]
  made: number
  done: () => void
}

function outbox(): { box: Outbox; sent: Sent[] } {
  const sent: Sent[] = []
  return { box: new Outbox((parts, made, done) => sent.push({ parts, made, done })), sent }
}

function text(value: string): Part {
  return { type: 'text', text: value }
}

describe('the outbox of a worker', () => {
  it('sends a part at once while nothing is being written', () => {
    const { box, sent } = outbox()
    box.add(text('a'))
    sent[0]?.done()
    box.add(text('b'))
    expect(sent.map(({ parts }) => parts)).toEqual([[text('a')], [text('b')]])
  })

  it('joins what comes during a write, and counts what was made', () => {
    const { box, sent } = outbox()
    for (const value of ['a', 'b', 'c', 'd']) box.add(text(value))
    expect(sent).toHaveLength(1)
    sent[0]?.done()
    expect(sent[1]).toMatchObject({ parts: [text('bcd')], made: 3 })
  })

  it('joins texts and reasoning only with their own kind, and never over another part or logprobs', () => {
    const { box, sent } = outbox()
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
