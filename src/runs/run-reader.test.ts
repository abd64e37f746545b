import { describe, expect, it } from 'vitest'
import type { Part, PartStream, Result } from '../tasks/part.ts'
import { NO_USAGE } from '../tasks/usage.ts'
import { partsOf, StreamReader, type RunReader } from './run-reader.ts'

const RESULT: Result = { finishReason: 'stop', usage: NO_USAGE, timings: { prefill: 0, decode: 0 } }
const text = (said: string): Part => ({ type: 'text', text: said })

/** Gives its batches one after the other. */
class BatchReader implements RunReader {
  left = 0
  #ready: Part[] = []
  readonly #batches: Part[][]

  constructor(...batches: Part[][]) {
    this.#batches = batches
  }

  async arrival(): Promise<Result | undefined> {
    if (this.#ready.length > 0) return undefined
    this.#ready = this.#batches.shift() ?? []
    return this.#ready.length > 0 ? undefined : RESULT
  }

  take(): Part | undefined {
    return this.#ready.shift()
  }

  leave(): void {
    this.left++
  }
}

async function textsOf(stream: PartStream): Promise<string[]> {
  const texts: string[] = []
  for await (const part of stream) if ('text' in part) texts.push(part.text)
  return texts
}

async function* talking(log: string[] = []): PartStream {
  try {
    yield text('a')
    yield text('b')
    return RESULT
  } finally {
    log.push('closed')
  }
}

describe('a reader as a stream', () => {
  it('gives all parts of all batches, and leaves', async () => {
    const reader = new BatchReader([text('a'), text('b')], [text('c')])
    expect(await textsOf(partsOf(reader))).toEqual(['a', 'b', 'c'])
    expect(reader.left).toBe(1)
  })

  it('leaves when its own reader does, and was never there when nobody asked', async () => {
    const reader = new BatchReader([text('a'), text('b')])
    await partsOf(reader).return(undefined as never)
    expect(reader.left).toBe(0)
    for await (const part of partsOf(reader)) if (part.type === 'text') break
    expect(reader.left).toBe(1)
  })
})

describe('a stream as a reader', () => {
  it('gives its parts and then its result', async () => {
    const reader = new StreamReader(talking())
    expect(await textsOf(partsOf(reader))).toEqual(['a', 'b'])
  })

  it('closes a stream that is left before its end', async () => {
    const log: string[] = []
    const reader = new StreamReader(talking(log))
    expect([await reader.arrival(), reader.take(), reader.take()]).toEqual([undefined, text('a'), undefined])
    reader.leave()
    reader.leave()
    await new Promise((later) => process.nextTick(later))
    expect(log).toEqual(['closed'])
  })

  it('is broken, never complete, without a result (R12)', async () => {
    const stream = talking()
    await stream.return(undefined as never)
    await expect(new StreamReader(stream).arrival()).rejects.toMatchObject({ code: 'engine_failed' })
  })
})
