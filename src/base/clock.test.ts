import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ManualClock, sleep, SystemClock } from './clock.ts'

describe('ManualClock', () => {
  it('fires timers in order of their due time, also those set on the way', () => {
    const clock = new ManualClock()
    const fired: string[] = []
    clock.setTimer(20, () => fired.push(`b@${clock.now()}`))
    clock.setTimer(10, () => {
      fired.push(`a@${clock.now()}`)
      clock.setTimer(5, () => fired.push(`c@${clock.now()}`))
    })
    clock.setTimer(15, () => fired.push('never')).cancel()
    clock.advance(30)
    expect(fired).toEqual(['a@10', 'c@15', 'b@20'])
  })
})

describe('SystemClock', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('waits longer than node’s timers can: keepAlive of 30 days ran a timer every millisecond', () => {
    const days = 24 * 3_600_000
    const fired = vi.fn()
    new SystemClock().setTimer(60 * days, fired)
    vi.advanceTimersByTime(60 * days - 1)
    expect(fired).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(fired).toHaveBeenCalledOnce()
  })

  it('forgets a long wait that is cancelled in its second stretch', () => {
    const fired = vi.fn()
    const timer = new SystemClock().setTimer(2 ** 32, fired)
    vi.advanceTimersByTime(2 ** 31)
    timer.cancel()
    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(2 ** 32)
    expect(fired).not.toHaveBeenCalled()
  })
})

describe('sleep', () => {
  it('ends with the reason when its signal fires, and leaves no listener behind (F14)', async () => {
    const clock = new ManualClock()
    const controller = new AbortController()
    const sleeping = sleep(clock, 1000, controller.signal)
    controller.abort(new Error('enough'))
    await expect(sleeping).rejects.toThrow('enough')
  })

  it('ends when its time has come', async () => {
    const clock = new ManualClock()
    const sleeping = sleep(clock, 1000)
    clock.advance(1000)
    await expect(sleeping).resolves.toBeUndefined()
  })
})
