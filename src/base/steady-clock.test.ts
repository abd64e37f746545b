import { describe, expect, it } from 'vitest'
import { ManualClock } from './clock.ts'
import { SteadyClock } from './steady-clock.ts'

const HOUR = 3_600_000

function bench(): {
  manual: ManualClock
  clock: SteadyClock
  rings: number[]
  ringAfter: (milliseconds: number) => void
} {
  const manual = new ManualClock()
  const clock = new SteadyClock(manual)
  const rings: number[] = []
  return {
    manual,
    clock,
    rings,
    ringAfter: (milliseconds) => clock.setTimer(milliseconds, () => rings.push(clock.now())),
  }
}

describe('M21: a machine that sleeps', () => {
  it('eight hours asleep are left out of every duration', () => {
    const { manual, clock } = bench()
    manual.advance(40_000)
    manual.jump(8 * HOUR)
    expect(clock.now()).toBeLessThanOrEqual(40_000 + 15_000)
    manual.advance(1000)
    expect(clock.now()).toBeLessThanOrEqual(41_000 + 15_000)
  })

  it('a timer rings after what was left of it, not at once', () => {
    const { manual, rings, ringAfter } = bench()
    ringAfter(300_000)
    manual.advance(60_000)
    manual.jump(8 * HOUR)
    manual.advance(100_000)
    expect(rings).toEqual([])
    manual.advance(140_000)
    expect(rings).toHaveLength(1)
  })

  it('a busy machine is not asleep: a minute late is late', () => {
    const { manual, clock, rings, ringAfter } = bench()
    ringAfter(30_000)
    manual.jump(59_000)
    manual.advance(0)
    expect([clock.now(), rings]).toEqual([59_000, [59_000]])
  })

  it('time goes on evenly while it is awake, for hours of idleness', () => {
    const { manual, clock, rings, ringAfter } = bench()
    ringAfter(10 * HOUR)
    manual.advance(10 * HOUR)
    expect([clock.now(), rings]).toEqual([10 * HOUR, [10 * HOUR]])
  })

  it('a cancelled timer stays silent, also one that was set again after a sleep', () => {
    const { manual, clock, rings } = bench()
    const timer = clock.setTimer(100_000, () => rings.push(clock.now()))
    manual.jump(8 * HOUR)
    manual.advance(1000)
    timer.cancel()
    manual.advance(HOUR)
    expect(rings).toEqual([])
  })
})
