import { describe, expect, it } from 'vitest'
import type { Part, Result } from '../../tasks/part.ts'
import { NO_USAGE } from '../../tasks/usage.ts'
import { PartChannel, readParts } from './part-channel.ts'

const RESULT: Result = { finishReason: 'stop', usage: NO_USAGE, timings: { prefill: 0, decode: 0 } }
const text = (value: number): Part => ({ type: 'text', text: String(value) })

async function settled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending')
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending
}

describe('a channel of parts', () => {
  it('gives parts in order, then the result', async () => {
    const channel = new PartChannel()
    await channel.put(text(1))
    await channel.put(text(2))
    channel.end(RESULT)
    expect([await channel.take(), await channel.take(), await channel.take()]).toEqual([
      { part: text(1) },
      { part: text(2) },
      { result: RESULT },
    ])
  })

  it('gives a part that comes while the reader waits', async () => {
    const channel = new PartChannel()
    const taken = channel.take()
    await channel.put(text(1))
    expect(await taken).toEqual({ part: text(1) })
  })

  it('P16: pauses the writer when the reader is slow, and goes on when it reads', async () => {
    const channel = new PartChannel()
    for (let count = 0; count < 31; count++) await channel.put(text(count))
    const paused = channel.put(text(31))
    expect(await settled(paused)).toBe(false)
    await channel.take()
    expect(await settled(paused)).toBe(true)
  })

  it('a failure reaches a waiting reader at once, drops what was not read, and frees a paused writer', async () => {
    const channel = new PartChannel()
    const taken = channel.take()
    channel.fail(new Error('enough'))
    await expect(taken).rejects.toThrow('enough')

    const full = new PartChannel()
    for (let count = 0; count < 31; count++) await full.put(text(count))
    const paused = full.put(text(31))
    full.fail(new Error('first'))
    full.fail(new Error('second'))
    await paused
    expect(full.closed).toBe(true)
    await expect(full.take()).rejects.toThrow('first')
  })

  it('a failure after the result changes nothing', async () => {
    const channel = new PartChannel()
    channel.end(RESULT)
    channel.fail(new Error('late'))
    expect(await channel.take()).toEqual({ result: RESULT })
  })

  it('a reader that breaks out closes it and takes its listener off the signal', async () => {
    const channel = new PartChannel()
    const abort = new AbortController()
    await channel.put(text(1))
    for await (const part of readParts(channel, abort.signal)) {
      expect(part).toEqual(text(1))
      break
    }
    expect(channel.closed).toBe(true)
    await channel.put(text(2))
    abort.abort()
  })

  it('an abort ends the reading with the reason of the signal', async () => {
    const abort = new AbortController()
    const reading = readParts(new PartChannel(), abort.signal).next()
    abort.abort(new Error('given up'))
    await expect(reading).rejects.toThrow('given up')
  })
})
