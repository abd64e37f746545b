import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import { randomNumbers } from './random.ts'
import { ROOMY, sized } from './scenario.ts'
import { simulate, simulateStoppably } from './simulate.ts'
import type { Trace, TraceRequest } from './trace.ts'

/** A busy hour of ten models in a budget for some of them, eight conversations each. */
function busyTrace(count: number): Trace {
  const random = randomNumbers(42)
  const requests = Array.from({ length: count }, (_, index): TraceRequest => {
    const model = `m${Math.floor(random() ** 2 * 10)}`
    return {
      at: index * 20,
      model,
      hold: 50 + random() * 400,
      conversation: `c${Math.floor(random() * 8)}`,
      turn: Math.floor(index / (count / 5)),
    }
  })
  return {
    limits: { ...ROOMY, minimumResidency: 2000, queue: 100_000, queuePerModel: 100_000, maxLargeModels: 10 },
    host: { ram: 200 },
    models: Array.from({ length: 10 }, (_, index) =>
      sized(`m${index}`, 10 + index, { slots: 8, loadTime: 500 }),
    ),
    requests,
  }
}

/** Each look at it takes 20 ms. */
class HurryingClock extends ManualClock {
  override now(): number {
    this.advance(20)
    return super.now()
  }
}

describe('a simulation that can be stopped', () => {
  it('ends with the reason as soon as the signal fires', async () => {
    const interrupt = new AbortController()
    const options = { clock: new HurryingClock(), signal: interrupt.signal }
    let answered = 0
    const played = simulateStoppably(busyTrace(5000), { ...options, onEnd: () => answered++ })
    setImmediate(() => interrupt.abort(new Error('enough')))
    await expect(played).rejects.toThrow('enough')
    expect(answered).toBeGreaterThan(0)
    expect(answered).toBeLessThan(2500)
  })

  it('reports the same as one that cannot', async () => {
    const options = { clock: new HurryingClock(), signal: new AbortController().signal }
    expect(await simulateStoppably(busyTrace(500), options)).toEqual(simulate(busyTrace(500)))
    const nothing = { ...busyTrace(5), requests: [] }
    expect(await simulateStoppably(nothing, options)).toEqual(simulate(nothing))
  })
})

describe('the policy on a trace', () => {
  it('reports who was served, how long they waited, and what it took', () => {
    const report = simulate({
      limits: ROOMY,
      host: { ram: 100 },
      models: [sized('a', 60), sized('b', 60), sized('huge', 101)],
      requests: [
        { at: 0, model: 'a', hold: 1000, conversation: 'x', turn: 0 },
        { at: 2000, model: 'a', hold: 1000, conversation: 'x', turn: 1 },
        { at: 2500, model: 'b', hold: 500 },
        { at: 2600, model: 'huge', hold: 1 },
      ],
    })
    expect(report).toMatchObject({
      served: 3,
      refused: { model_too_large: 1 },
      models: {
        a: { served: 2, loads: 1, evictions: 1, waits: { longest: 110 } },
        b: { served: 1, loads: 1, evictions: 0, waits: { longest: 635 } },
        huge: { served: 0, loads: 0 },
      },
      peak: { ram: 60 },
      duration: 3635,
    })
    expect(report.reuse).toBeCloseTo(3 / 6)
  })

  it('says the same of the same trace', () => {
    const trace = busyTrace(500)
    expect(simulate(trace)).toEqual(simulate(trace))
  })

  it('keeps the budget and serves everybody on a busy hour', () => {
    const report = simulate(busyTrace(5000))
    expect(report.served).toBe(5000)
    expect(report.peak.ram).toBeLessThanOrEqual(100)
  })
})
