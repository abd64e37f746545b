import { asksByInstance } from './asks.ts'
import { isLarge, largeModels, overrun } from './budget.ts'
import type { Holder, Instance, ModelState, PoolState } from './state.ts'
import type { Step } from './step.ts'
import { booksOf } from './books.ts'
import { isServing } from './waiting.ts'

const NONE: readonly string[] = []

/** P14: all models that runs of these may ask for, and what those may ask for in turn; without the models themselves. */
export function partsOf(state: PoolState, ids: readonly string[]): readonly string[] {
  if (ids.every((id) => (state.models.get(id)?.model.uses ?? NONE).length === 0)) return NONE
  const parts = new Set<string>()
  const open = [...ids]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const part of state.models.get(id)?.model.uses ?? NONE) {
      if (parts.has(part) || ids.includes(part)) continue
      parts.add(part)
      open.push(part)
    }
  }
  return [...parts].filter((id) => state.models.has(id))
}

/** Models with parts that run now: they hold their memory until they have got what they may ask for. */
export function runningWithParts(state: PoolState): string[] {
  const running = new Set<string>()
  for (const { model, leases } of state.instances) {
    if (leases > 0 && (state.models.get(model)?.model.uses ?? NONE).length > 0) running.add(model)
  }
  return [...running]
}

/**
 * P14: whether a run of this model can have all it may ask for while those that run already have all they may ask for. Otherwise two
 * could wait for each other for ever, each holding what the other needs.
 */
export function fitsTogether(step: Step, model: ModelState): boolean {
  const { id, uses = NONE } = model.model
  if (uses.length === 0) return true
  const roots = [...new Set([...runningWithParts(step.state), id])]
  const all = [...roots, ...partsOf(step.state, roots)]
  const { limits } = step.state
  const holders = holdersOf(step, all)
  if (overrun(step.rules.ledger(holders), limits, false) !== undefined) return false
  return (
    !holders.some((holder) => isLarge(holder, limits)) ||
    largeModels(holders, limits).length <= limits.maxLargeModels
  )
}

/** Their busy copies, one copy of each that is not busy or what it would need, and those who never go. Idle copies beyond that can make way. */
function holdersOf(step: Step, ids: readonly string[]): Holder[] {
  const { instances, models } = step.state
  const busy = instances.filter((instance) => ids.includes(instance.model) && instance.leases > 0)
  const idle = ids.filter((id) => !busy.some(({ model }) => model === id))
  const ones = idle
    .map((id) => instances.find((one) => one.model === id && isServing(one)) ?? models.get(id)?.needs)
    .filter((holder) => holder !== undefined)
  const others = booksOf(step).protected.filter(
    (instance) => !busy.includes(instance) && !ones.includes(instance),
  )
  return [...busy, ...ones, ...others]
}

/** Instances whose runs wait for something they asked for: they give nothing back before they have it. */
export function askingInstances(state: PoolState): Instance[] {
  const asks = asksByInstance(state)
  return asks.size === 0 ? [] : state.instances.filter(({ id }) => asks.has(id))
}
