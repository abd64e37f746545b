import { describe, expect, it } from 'vitest'
import { ManualClock } from './clock.ts'
import { Deadlines } from './deadlines.ts'

class CountingClock extends ManualClock {
  timers = 0

  override setTimer(milliseconds: number, callback: () => void): ReturnType<ManualClock['setTimer']> {
    this.timers++
    return super.setTimer(milliseconds, callback)
  }
}

function bench(): {
  clock: CountingClock
  deadlines: Deadlines
  rung: string[]
  ring: (name: string) => () => void
} {
  const clock = new CountingClock()
  const rung: string[] = []
  const ring = (name: string) => (): void => void rung.push(`${name} at ${clock.now()}`)
  return { clock, deadlines: new Deadlines(clock, 100), rung, ring }
}

describe('waits of one length', () => {
  it('each is over when its own time is, to the millisecond', () => {
    const { clock, deadlines, rung, ring } = bench()
    deadlines.begin(ring('a'))
    clock.advance(30)
    deadlines.begin(ring('b'))
    deadlines.begin(ring('c'))
    clock.advance(69)
    expect(rung).toEqual([])
    clock.advance(1000)
    expect(rung).toEqual(['a at 100', 'b at 130', 'c at 130'])
  })

  it('one that is ended never is over, and one that is renewed has all of its time again', () => {
    const { clock, deadlines, rung, ring } = bench()
    const ended = deadlines.begin(ring('ended'))
    const renewed = deadlines.begin(ring('renewed'))
    clock.advance(90)
    deadlines.end(ended)
    deadlines.end(ended)
    deadlines.renew(renewed)
    clock.advance(99)
    expect(rung).toEqual([])
    clock.advance(1)
    expect(rung).toEqual(['renewed at 190'])
  })

  it('one that is over may begin anew, and end another that is due with it', () => {
    const { clock, deadlines, rung, ring } = bench()
    const beat = deadlines.begin(() => {
      ring('beat')()
      deadlines.end(other)
      deadlines.renew(beat)
    })
    const other = deadlines.begin(ring('other'))
    clock.advance(350)
    expect(rung).toEqual(['beat at 100', 'beat at 200', 'beat at 300'])
  })

  it('many take one timer, and none when there are none', () => {
    const { clock, deadlines } = bench()
    for (let index = 0; index < 1000; index++) deadlines.end(deadlines.begin(() => undefined))
    expect(clock.timers).toBe(1)
    clock.advance(10_000)
    expect(clock.timers).toBe(1)
    deadlines.begin(() => undefined)
    expect(clock.timers).toBe(2)
  })
})
