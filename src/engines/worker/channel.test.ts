import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import { Channel } from './channel.ts'
import type { FromWorker } from './protocol.ts'

interface Seen {
  channel: Channel
  clock: ManualClock
  writes: { messages: FromWorker[]; written: () => void }[]
}

function channel(): Seen {
  const writes: Seen['writes'] = []
  const clock = new ManualClock()
  const out = new Channel((messages, written) => writes.push({ messages, written }), clock)
  return { channel: out, clock, writes }
}

function pong(id: number): FromWorker {
  return { type: 'pong', id }
}

function text(id: number): FromWorker {
  return { type: 'parts', id, parts: [{ type: 'text', text: 'a' }], made: 1 }
}

describe('the way out of a worker', () => {
  it('writes at once while it is free, and together what comes during a write, in order', () => {
    const { channel: out, writes } = channel()
    for (const id of [1, 2, 3]) out.send(pong(id))
    expect(writes.map(({ messages }) => messages)).toEqual([[pong(1)]])
    writes[0]?.written()
    expect(writes.map(({ messages }) => messages)).toEqual([[pong(1)], [pong(2), pong(3)]])
    writes[1]?.written()
    expect(writes).toHaveLength(2)
    out.send(pong(4))
    expect(writes[2]?.messages).toEqual([pong(4)])
  })

  it('calls back per message, and what is sent then goes with the next write', () => {
    const { channel: out, writes } = channel()
    const seen: number[] = []
    out.send(pong(1), () => {
      seen.push(1)
      out.send(pong(3))
    })
    out.send(pong(2), () => seen.push(2))
    writes[0]?.written()
    expect(seen).toEqual([1])
    expect(writes[1]?.messages).toEqual([pong(2), pong(3)])
    writes[1]?.written()
    expect(seen).toEqual([1, 2])
  })

  it('lets text wait for 16 ms after the last write, so that a fast model does not wake the server for each token', () => {
    const { channel: out, clock, writes } = channel()
    out.send(text(1))
    writes[0]?.written()
    clock.advance(7)
    out.send(text(2))
    clock.advance(7)
    out.send(text(3))
    expect(writes).toHaveLength(1)
    clock.advance(2)
    expect(writes[1]?.messages).toEqual([text(2), text(3)])
    writes[1]?.written()
    clock.advance(16)
    out.send(text(4))
    expect(writes[2]?.messages).toEqual([text(4)])
  })

  it('takes text that waits along with whatever else is sent, at once and in order', () => {
    const { channel: out, clock, writes } = channel()
    out.send(text(1))
    writes[0]?.written()
    out.send(text(2))
    out.send(pong(3))
    expect(writes[1]?.messages).toEqual([text(2), pong(3)])
    writes[1]?.written()
    clock.advance(100)
    expect(writes).toHaveLength(2)
  })

  it('sends what came during a write when its time has come', () => {
    const { channel: out, clock, writes } = channel()
    out.send(text(1))
    out.send(text(2))
    writes[0]?.written()
    expect(writes).toHaveLength(1)
    clock.advance(16)
    expect(writes[1]?.messages).toEqual([text(2)])
  })
})
