import { describe, expect, it } from 'vitest'
import type { Clock, Timer } from '../../base/clock.ts'
import { transferError } from './download-error.ts'
import { withRetries } from './retry.ts'

/** Fires timers at once and notes how long they were to be. */
class EagerClock implements Clock {
  readonly waits: number[] = []

  now(): number {
    return 0
  }

  wallTime(): number {
    return 0
  }

  setTimer(milliseconds: number, callback: () => void): Timer {
    this.waits.push(milliseconds)
    queueMicrotask(callback)
    return { cancel: () => undefined }
  }
}

const url = new URL('https://hub.example/file?signature=secret')
const passing = (retryAfter?: number): Error =>
  transferError(url, 'broke off', { retryable: true, ...(retryAfter === undefined ? {} : { retryAfter }) })

function failing(times: number, error: () => Error): { work: () => Promise<string>; calls: () => number } {
  let calls = 0
  const work = async (): Promise<string> => {
    if (calls++ < times) throw error()
    return 'done'
  }
  return { work, calls: () => calls }
}

describe('withRetries', () => {
  it('waits twice as long each time', async () => {
    const clock = new EagerClock()
    const { work } = failing(4, passing)
    expect(await withRetries(work, { clock, signal: new AbortController().signal })).toBe('done')
    expect(clock.waits).toEqual([500, 1000, 2000, 4000])
  })

  it('waits as long as the server asks', async () => {
    const clock = new EagerClock()
    const { work } = failing(1, () => passing(7000))
    await withRetries(work, { clock, signal: new AbortController().signal })
    expect(clock.waits).toEqual([7000])
  })

  it('gives up after so many tries without progress, but not while there is some', async () => {
    const options = { clock: new EagerClock(), signal: new AbortController().signal, attempts: 3 }
    const stuck = failing(9, passing)
    await expect(withRetries(stuck.work, options)).rejects.toThrow('broke off')
    expect(stuck.calls()).toBe(3)
    const moving = failing(9, passing)
    expect(await withRetries(moving.work, options, () => moving.calls())).toBe('done')
  })

  it('does not try again what will not pass', async () => {
    const { work, calls } = failing(1, () => transferError(url, 'is gone', { retryable: false }))
    await expect(
      withRetries(work, { clock: new EagerClock(), signal: new AbortController().signal }),
    ).rejects.toThrow('is gone')
    expect(calls()).toBe(1)
  })

  it('ends in the middle of a wait when its signal fires', async () => {
    const controller = new AbortController()
    const clock: Clock = {
      now: () => 0,
      wallTime: () => 0,
      setTimer: () => ({ cancel: () => controller.abort() }),
    }
    const { work } = failing(9, () => {
      queueMicrotask(() => controller.abort(new Error('enough')))
      return passing()
    })
    await expect(withRetries(work, { clock, signal: controller.signal })).rejects.toThrow('enough')
  })

  it('shows addresses without their query', () => {
    expect(passing().message).toBe('https://hub.example/file: broke off')
  })
})
