import { describe, expect, it } from 'vitest'
import type { LoadPlan } from '../../engines/engine.ts'
import type { MeasuredFootprint } from '../../host/memory.ts'
import { poolModelOf } from '../simulation/simulated-model.ts'
import { newWorld, sized } from '../simulation/scenario.ts'
import { bookingOf, isLarge, largeModels, ledger, promiseOf } from './budget.ts'
import type { Charges, Holder } from './state.ts'
import { ROOMY } from '../simulation/scenario.ts'

const terms = (
  weights: number,
  context: number,
): { ram: Record<'weights' | 'context' | 'compute' | 'base', number> } => ({
  ram: { weights, context, compute: 5, base: 5 },
})

function holder(model: string, bytes: number, sharing: Sharing = {}): Holder {
  return booked(model, { ram: bytes }, undefined, sharing)
}

type Sharing = Pick<LoadPlan, 'sharedWeights' | 'programBytes'>

function booked(
  model: string,
  promise: Charges,
  measured: MeasuredFootprint | undefined,
  sharing: Sharing = {},
): Holder {
  const { plan } = poolModelOf({ id: model, footprint: {} })
  return { model, ...bookingOf(promise, measured, { ...plan, ...sharing }) }
}

describe('the promise of a plan (R4)', () => {
  const { plan } = poolModelOf({ id: 'm', footprint: terms(60, 30) })

  it('is the whole estimate at first', () => {
    expect(promiseOf(plan, undefined)).toEqual({ ram: 100 })
  })

  it('is at least what was measured', () => {
    expect(promiseOf(plan, { ram: { private: 140, shared: 0 } })).toEqual({ ram: 140 })
  })

  it('counts the context whole on top of what was measured, for it may not have been touched yet', () => {
    expect(promiseOf(plan, { ram: { private: 50, shared: 0 } })).toEqual({ ram: 80 })
  })

  it('never corrects an estimate upwards by a context that is in it', () => {
    expect(promiseOf(plan, { ram: { private: 95, shared: 0 } })).toEqual({ ram: 100 })
  })

  it('is what was measured, and what is taken only at work, where the engine tells how much that is', () => {
    const telling = { ...plan, takenLater: { ram: 5 } }
    expect(promiseOf(telling, { ram: { private: 80, shared: 0 } })).toEqual({ ram: 85 })
    expect(promiseOf(telling, { ram: { private: 98, shared: 0 } })).toEqual({ ram: 100 })
    expect(promiseOf({ ...plan, takenLater: {} }, { ram: { private: 80, shared: 0 } })).toEqual({ ram: 80 })
  })

  it('leaves out weights that are shared', () => {
    const sharing = poolModelOf({
      id: 'm',
      footprint: terms(60, 30),
      sharedWeights: { key: 'f', domain: 'ram', bytes: 55 },
    })
    expect(promiseOf(sharing.plan, undefined)).toEqual({ ram: 45 })
  })
})

describe('the ledger (R4)', () => {
  const shared = { key: 'file', domain: 'ram', bytes: 50 } as const

  it('books mapped weights once for all who share them', () => {
    const two = [holder('a', 10, { sharedWeights: shared }), holder('b', 20, { sharedWeights: shared })]
    expect(ledger(two)).toEqual({ ram: 80 })
    expect(ledger(two.slice(1))).toEqual({ ram: 70 })
  })

  it('books the larger of promise and measurement', () => {
    expect(ledger([booked('a', { ram: 10 }, { ram: { private: 30, shared: 7 } })])).toEqual({ ram: 37 })
    expect(ledger([booked('a', { ram: 10 }, { ram: { private: 3, shared: 0 } })])).toEqual({ ram: 10 })
  })

  it('books shared pages beyond the weights: three workers held more than the budget without those of their program (M12)', () => {
    const one = booked('a', { ram: 10 }, { ram: { private: 12, shared: 57 } }, { sharedWeights: shared })
    expect(ledger([one])).toEqual({ ram: 50 + 12 + 7 })
  })

  it('books the pages of a program once for all who run it, and whole, whoever goes (M12)', () => {
    const [a, b] = [7, 9].map((pages) =>
      booked('m', { ram: 10 }, { ram: { private: 12, shared: pages } }, { programBytes: 5 }),
    ) as [Holder, Holder]
    expect(ledger([a, b])).toEqual({ ram: 2 * 12 + 9 })
    expect(ledger([a])).toEqual({ ram: 12 + 7 })
    expect(ledger([holder('m', 10, { programBytes: 5 })])).toEqual({ ram: 15 })
  })

  it('lets a second copy in that brings no other program than the first (R4)', () => {
    const world = newWorld()
    for (const id of ['a', 'b']) world.declare(sized(id, 60, { keepAlive: -1, programBytes: 30 }))
    for (const model of ['a', 'b']) world.request({ model, hold: 10 })
    world.run(1000)
    expect(world.state.instances.map(({ model }) => model)).toEqual(['a', 'b'])
    expect(ledger(world.state.instances)).toEqual({ ram: 90 })
  })

  it('does not book shared pages twice where the shared weights are known', () => {
    const one = booked('a', { ram: 10 }, { ram: { private: 12, shared: 48 } }, { sharedWeights: shared })
    expect(ledger([one])).toEqual({ ram: 62 })
  })

  it('counts large models once each and small ones not at all (M6)', () => {
    const holders = [holder('a', 30), holder('a', 30), holder('b', 19), holder('c', 20)]
    expect(largeModels(holders, ROOMY)).toEqual(['a', 'c'])
    expect(isLarge(holder('b', 19), ROOMY)).toBe(false)
  })
})

describe('the budget (R4, M5)', () => {
  it('is never exceeded by loads that begin together (BR-64)', () => {
    const world = newWorld()
    for (const id of ['a', 'b']) world.declare(sized(id, 60, { loadTime: 2000 }))
    world.request({ model: 'a' })
    world.request({ model: 'b' })
    world.run(1000)
    expect(world.state.instances.map(({ model }) => model)).toEqual(['a'])
  })

  it('lets an operator go up to the absolute limit, and nothing more in beside that', () => {
    const world = newWorld()
    for (const id of ['a', 'b', 'c']) world.declare(sized(id, 60, { keepAlive: -1, pinned: id === 'a' }))
    world.declare(sized('tiny', 1))
    world.request({ model: 'a', hold: 10 })
    world.run(1000)
    expect(world.request({ model: 'b', wants: 'instance' }).refusedWith?.code).toBe('model_too_large')
    const forced = world.request({ model: 'b', wants: 'instance', force: true })
    world.run(2000)
    expect(forced.outcome).toBe('done')
    expect(world.request({ model: 'c', wants: 'instance', force: true }).outcome).toBe('waiting')
    world.run(4000)
    expect(world.state.instances.map(({ model }) => model)).toEqual(['a', 'c'])
  })

  it('lets nothing into a domain without a limit', () => {
    const world = newWorld()
    const footprint = { 'gpu:0': { weights: 1, context: 0, compute: 0, base: 0 } }
    world.declare({ id: 'm', footprint })
    expect(world.request({ model: 'm' }).refusedWith).toMatchObject({
      code: 'model_too_large',
      details: { domain: 'gpu:0', need: 1, limit: 0 },
    })
  })

  it('never goes above the absolute limit, force or not', () => {
    const world = newWorld()
    world.declare(sized('huge', 121))
    expect(world.request({ model: 'huge', wants: 'instance', force: true }).refusedWith).toMatchObject({
      code: 'model_too_large',
      details: { need: 121, limit: 120 },
    })
  })

  it('keeps small models beside the count of large ones (M6)', () => {
    const world = newWorld({ limits: { maxLargeModels: 1 } })
    world.declare(sized('big', 30))
    world.declare(sized('bigger', 40))
    world.declare(sized('embedder', 10))
    for (const model of ['embedder', 'big', 'bigger']) {
      world.request({ model, hold: 10 })
      world.run(world.now + 1000)
    }
    expect(world.state.instances.map(({ model }) => model).toSorted()).toEqual(['bigger', 'embedder'])
  })

  it('loads no further copy while more large models are in memory than a lowered limit allows (M6)', () => {
    const world = newWorld({ limits: { maxLargeModels: 2 } })
    world.declare(sized('a', 30, { maxInstances: 2, slots: 1 }))
    world.declare(sized('b', 30))
    for (const model of ['a', 'b']) world.request({ model, hold: 5000 })
    world.run(1000)
    world.send({ type: 'limits-changed', limits: { ...ROOMY, maxLargeModels: 1 } })
    world.request({ model: 'a', hold: 10 })
    world.run(2000)
    expect(world.state.instances.map(({ model }) => model)).toEqual(['a', 'b'])
  })
})
