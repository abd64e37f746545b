import { describe, expect, it, vi } from 'vitest'
import type { Part, Result } from '../../tasks/part.ts'
import { NO_USAGE } from '../../tasks/usage.ts'
import { PartChannel } from './part-channel.ts'

const RESULT: Result = { finishReason: 'stop', usage: NO_USAGE, timings: { prefill: 0, decode: 0 } }
const NEVER = new AbortController().signal
const text = (value: number): Part => ({ type: 'text', text: String(value) })
const given = (value: number): unknown => ({ done: false, value: text(value) })
const OVER = { done: true, value: undefined }

const channelOf = (start: (channel: PartChannel) => void = () => undefined, signal = NEVER): PartChannel =>
  new PartChannel(signal, start)

/** A channel with as many parts waiting as may be, and the promise its writer waits for. */
function full(): { channel: PartChannel; paused: Promise<void> | undefined } {
  const channel = channelOf()
  for (let count = 0; count < 31; count++) expect(channel.put(text(count))).toBeUndefined()
  return { channel, paused: channel.put(text(31)) }
}

async function isSettled(promise: Promise<unknown> | undefined): Promise<boolean> {
  const pending = Symbol('pending')
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending
}

describe('a channel of parts', () => {
  it('starts the run with the first reading, once', async () => {
    const start = vi.fn<(channel: PartChannel) => void>((channel) => {
      void channel.put(text(1))
      channel.end(RESULT)
    })
    const channel = channelOf(start)
    expect(start).not.toHaveBeenCalled()
    expect([await channel.next(), await channel.next(), await channel.next()]).toEqual([
      given(1),
      { done: true, value: RESULT },
      OVER,
    ])
    expect(start).toHaveBeenCalledTimes(1)
  })

  it('gives what the start throws to the reader, and is over then', async () => {
    const channel = channelOf(() => {
      throw new Error('refused')
    })
    await expect(channel.next()).rejects.toThrow('refused')
    expect(await channel.next()).toEqual(OVER)
  })

  it('never starts when it is closed before, or when its signal has fired', async () => {
    const start = vi.fn<(channel: PartChannel) => void>()
    const closed = channelOf(start)
    await closed.return(RESULT)
    expect(await closed.next()).toEqual(OVER)
    await expect(channelOf(start, AbortSignal.abort(new Error('late'))).next()).rejects.toThrow('late')
    expect(start).not.toHaveBeenCalled()
  })

  it('gives a part, or the result, that comes while the reader waits', async () => {
    const channel = channelOf()
    const first = channel.next()
    const second = channel.next()
    void channel.put(text(1))
    channel.end(RESULT)
    expect([await first, await second]).toEqual([given(1), { done: true, value: RESULT }])
  })

  it('P16: pauses the writer when the reader is slow, and goes on when it reads', async () => {
    const { channel, paused } = full()
    expect(await isSettled(paused)).toBe(false)
    expect(await channel.next()).toEqual(given(0))
    expect(await isSettled(paused)).toBe(true)
  })

  it('a failure reaches a waiting reader at once', async () => {
    const channel = channelOf()
    const waiting = channel.next()
    channel.fail(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    expect(await channel.next()).toEqual(OVER)
  })

  it('a failure drops what was not read, frees a paused writer, and only the first one counts', async () => {
    const { channel, paused } = full()
    channel.fail(new Error('first'))
    channel.fail(new Error('second'))
    await paused
    expect(channel.closed).toBe(true)
    expect(channel.put(text(1))).toBeUndefined()
    await expect(channel.next()).rejects.toThrow('first')
    expect(await channel.next()).toEqual(OVER)
  })

  it('an abort ends the reading with the reason of the signal, as long as the result was not read', async () => {
    const abort = new AbortController()
    const channel = channelOf(undefined, abort.signal)
    const waiting = channel.next()
    void channel.put(text(1))
    await waiting
    channel.end(RESULT)
    abort.abort(new Error('given up'))
    await expect(channel.next()).rejects.toThrow('given up')
  })

  it('takes its listener off the signal however it ends (F14)', async () => {
    const { signal } = new AbortController()
    const removed = vi.spyOn(signal, 'removeEventListener')
    const finished = channelOf((channel) => channel.end(RESULT), signal)
    await finished.next()
    const failed = channelOf(undefined, signal)
    const waiting = failed.next()
    failed.fail(new Error('no'))
    await waiting.catch(() => undefined)
    const left = channelOf((channel) => void channel.put(text(1)), signal)
    for await (const part of left) if (part.type === 'text') break
    expect(removed).toHaveBeenCalledTimes(3)
  })

  it('a reader that breaks out closes it', async () => {
    const channel = channelOf((self) => void self.put(text(1)))
    for await (const part of channel) if (part.type === 'text') break
    expect(channel.closed).toBe(true)
    expect(await channel.next()).toEqual(OVER)
  })

  it('what is thrown into it comes out of it', async () => {
    await expect(channelOf().throw(new Error('thrown'))).rejects.toThrow('thrown')
  })
})
