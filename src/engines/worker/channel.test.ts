import { describe, expect, it } from 'vitest'
import { Channel } from './channel.ts'
import type { FromWorker } from './protocol.ts'

function channel(): { channel: Channel; writes: { messages: FromWorker[]; written: () => void }[] } {
  const writes: { messages: FromWorker[]; written: () => void }[] = []
  return { channel: new Channel((messages, written) => writes.push({ messages, written })), writes }
}

function pong(id: number): FromWorker {
  return { type: 'pong', id }
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
})
