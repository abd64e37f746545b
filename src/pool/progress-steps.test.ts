import { describe, expect, it } from 'vitest'
import { ManualClock } from '../base/clock.ts'
import { ProgressSteps } from './progress-steps.ts'

function recorded(): { clock: ManualClock; steps: ProgressSteps; told: [at: number, fraction: number][] } {
  const clock = new ManualClock()
  const told: [number, number][] = []
  return { clock, told, steps: new ProgressSteps(clock, (fraction) => told.push([clock.now(), fraction])) }
}

describe('the steps of a load that are told', () => {
  it('are one each 100 ms of those that come faster, the newest each time', () => {
    const { clock, steps, told } = recorded()
    for (let step = 0; step < 30; step++) {
      steps.take(step / 30)
      clock.advance(10)
    }
    steps.end()
    expect(told).toEqual([
      [0, 0],
      [100, 9 / 30],
      [200, 19 / 30],
      [300, 29 / 30],
    ])
  })

  it('are the first and the last one at once, also where nothing comes between', () => {
    const { steps, told } = recorded()
    for (const fraction of [0, 0.3, 0.7, 1]) steps.take(fraction)
    steps.end()
    expect(told).toEqual([
      [0, 0],
      [0, 1],
    ])
  })

  it('are all of those that come slowly', () => {
    const { clock, steps, told } = recorded()
    for (const fraction of [0, 0.25, 0.5, 0.75]) {
      steps.take(fraction)
      clock.advance(100)
    }
    expect(told.map(([, fraction]) => fraction)).toEqual([0, 0.25, 0.5, 0.75])
  })

  it('have the newest one among them when the engine pauses, without another word of it', () => {
    const { clock, steps, told } = recorded()
    steps.take(0.1)
    steps.take(0.4)
    steps.take(0.9)
    clock.advance(99)
    expect(told).toHaveLength(1)
    clock.advance(10_000)
    expect(told).toEqual([
      [0, 0.1],
      [100, 0.9],
    ])
  })

  it('are one a second where less than a per cent is added, so that a slow load is known to live (M10)', () => {
    const { clock, steps, told } = recorded()
    for (let step = 0; step < 300; step++) {
      steps.take(0.5 + step / 1_000_000)
      clock.advance(10)
    }
    expect(told.map(([at]) => at)).toEqual([0, 1000, 2000, 3000])
  })

  it('say a fraction again only as a sign of life', () => {
    const { clock, steps, told } = recorded()
    steps.take(0)
    steps.take(0)
    steps.end()
    expect(told).toEqual([[0, 0]])
    clock.advance(1000)
    steps.take(0)
    expect(told).toEqual([
      [0, 0],
      [1000, 0],
    ])
  })

  it('are none after the end, and the end may come twice', () => {
    const { clock, steps, told } = recorded()
    steps.end()
    steps.take(0.1)
    steps.take(0.2)
    steps.end()
    steps.end()
    clock.advance(10_000)
    expect(told.map(([, fraction]) => fraction)).toEqual([0.1, 0.2])
  })
})
