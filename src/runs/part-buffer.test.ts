import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../base/errors.ts'
import type { Part, PartStream, Result } from '../tasks/part.ts'
import { NO_USAGE } from '../tasks/usage.ts'
import { PartBuffer, type SlowReaderRule } from './part-buffer.ts'

const RESULT: Result = { finishReason: 'stop', usage: NO_USAGE, timings: { prefill: 0, decode: 0 } }

function source(count: number, log: string[] = []): PartStream {
  return (async function* (): PartStream {
    try {
      for (let index = 0; index < count; index++) {
        log.push(`made ${index}`)
        yield { type: 'text', text: `${index % 10}` }
      }
      return RESULT
    } finally {
      log.push('closed')
    }
  })()
}

interface Setup {
  buffer: PartBuffer
  ended: unknown[]
  cancelled: ModelyardError[]
}

function setup(stream: PartStream, capacity = 100, whenFull: SlowReaderRule = 'pause'): Setup {
  const ended: unknown[] = []
  const cancelled: ModelyardError[] = []
  const buffer = new PartBuffer(stream, {
    capacity,
    whenFull,
    onSourceEnded: (outcome) => ended.push(outcome),
    cancelSource: (reason) => cancelled.push(reason),
  })
  return { buffer, ended, cancelled }
}

async function turns(count = 200): Promise<void> {
  for (let index = 0; index < count; index++) await Promise.resolve()
}

async function readAll(stream: PartStream): Promise<{ parts: Part[]; result: Result }> {
  const parts: Part[] = []
  for (;;) {
    const next = await stream.next()
    if (next.done === true) return { parts, result: next.value }
    parts.push(next.value)
  }
}

/** Reads as runs do. */
async function* read(buffer: PartBuffer): PartStream {
  try {
    for (;;) {
      const part = buffer.take()
      if (part !== undefined) yield part
      else if (buffer.outcome === undefined) await buffer.arrival()
      else if ('error' in buffer.outcome) throw buffer.outcome.error
      else return buffer.outcome.result
    }
  } finally {
    buffer.leave()
  }
}

describe('PartBuffer', () => {
  it('a slow reader of a stream holds no slot: the source ends before anything was read (P16)', async () => {
    const { buffer, ended } = setup(source(50))
    await turns()
    expect(ended).toEqual([{ result: RESULT }])
    const { parts, result } = await readAll(read(buffer))
    expect(parts).toHaveLength(50)
    expect(result).toEqual(RESULT)
  })

  it('past its capacity it stops pulling until the reader has caught up', async () => {
    const log: string[] = []
    const { buffer, ended } = setup(source(500, log), 10)
    await turns(3000)
    expect(log.length).toBeLessThan(15)
    expect(ended).toEqual([])
    expect((await readAll(read(buffer))).parts).toHaveLength(500)
    expect(ended).toHaveLength(1)
  })

  it('past its capacity it cancels when the rule says so, with the size in the message', async () => {
    const { cancelled } = setup(source(500), 10, 'cancel')
    await turns(3000)
    expect(cancelled[0]).toMatchObject({ code: 'slow_reader' })
    expect(cancelled[0]?.message).toContain('10 characters')
  })

  it('a reader that leaves early cancels the source', async () => {
    const { buffer, cancelled } = setup(source(500), 5)
    const reading = read(buffer)
    await reading.next()
    await reading.return(RESULT)
    expect(cancelled[0]).toMatchObject({ code: 'aborted' })
  })

  it('a failure of the source comes after everything that was produced before it', async () => {
    const failing = (async function* (): PartStream {
      yield { type: 'text', text: 'a' }
      throw new Error('engine fell over')
    })()
    const { buffer, ended } = setup(failing)
    const reading = read(buffer)
    expect(await reading.next()).toEqual({ done: false, value: { type: 'text', text: 'a' } })
    await expect(reading.next()).rejects.toMatchObject({ code: 'engine_failed', message: 'engine fell over' })
    expect(ended).toHaveLength(1)
  })

  it('an empty answer is complete', async () => {
    const { buffer } = setup(source(0))
    expect(await readAll(read(buffer))).toEqual({ parts: [], result: RESULT })
  })

  it.each<SlowReaderRule>(['pause', 'cancel'])(
    'who waits for the whole is woken once, and never taken for slow, also past the capacity (%s)',
    async (rule) => {
      const wakes = async (
        capacity: number,
      ): Promise<{ taken: number; wakes: number; cancelled: number }> => {
        const { buffer, cancelled } = setup(source(50), capacity, rule)
        let [taken, count] = [0, 0]
        while (buffer.outcome === undefined || buffer.count > 0) {
          count++
          await buffer.arrival(Infinity)
          while (buffer.take() !== undefined) taken++
        }
        return { taken, wakes: count, cancelled: cancelled.length }
      }
      expect(await wakes(100)).toEqual({ taken: 50, wakes: 1, cancelled: 0 })
      expect(await wakes(9)).toEqual({ taken: 50, wakes: 6, cancelled: 0 })
    },
  )
})
