import { describe, expect, it } from 'vitest'
import { SharedWork } from './shared-work.ts'

function slowWork(): {
  start: (signal: AbortSignal) => Promise<number>
  finish: (value: number) => void
  signals: AbortSignal[]
} {
  const signals: AbortSignal[] = []
  let finish: (value: number) => void = () => undefined
  return {
    signals,
    finish: (value) => finish(value),
    start: (signal) => {
      signals.push(signal)
      return new Promise((resolve) => {
        finish = resolve
      })
    },
  }
}

describe('SharedWork', () => {
  it('does the work once for all who ask while it is under way, and anew afterwards', async () => {
    const shared = new SharedWork<number>()
    const work = slowWork()
    const answers = [shared.join('a', undefined, work.start), shared.join('a', undefined, work.start)]
    work.finish(1)
    expect(await Promise.all(answers)).toEqual([1, 1])
    const again = shared.join('a', undefined, work.start)
    work.finish(2)
    expect(await again).toBe(2)
    expect(work.signals).toHaveLength(2)
  })

  it('one who leaves does not end it for the others; the last one who leaves does', async () => {
    const shared = new SharedWork<number>()
    const work = slowWork()
    const [first, second] = [new AbortController(), new AbortController()]
    const answers = [shared.join('a', first.signal, work.start), shared.join('a', second.signal, work.start)]
    first.abort()
    await expect(answers[0]).rejects.toMatchObject({ code: 'aborted' })
    expect(work.signals[0]?.aborted).toBe(false)
    second.abort()
    await expect(answers[1]).rejects.toMatchObject({ code: 'aborted' })
    expect(work.signals[0]?.aborted).toBe(true)
  })

  it('a failure reaches everybody and is not remembered', async () => {
    const shared = new SharedWork<number>()
    await expect(shared.join('a', undefined, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await shared.join('a', undefined, () => Promise.resolve(3))).toBe(3)
  })
})
