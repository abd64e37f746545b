import { isAwaited } from './fairness.ts'
import type { Instance, ModelState, PoolState } from './state.ts'
import { copiesOf, wake, type Demand, type Step } from './step.ts'

/** Sets up to this size are searched completely; beyond it a greedy choice is pruned. */
const SEARCHED = 3
const MANY = 10

/** R13: ready copies beyond `minInstances`: only these may go by our own decision. */
export function spareCopies(state: PoolState, model: ModelState): number {
  const ready = copiesOf(state, model).filter((instance) => instance.state === 'ready').length
  return Math.max(0, ready - model.model.minInstances)
}

/** R7, F19: idle, not pinned, past its minimum residency, and nobody older waits for it. */
export function mayEvict(step: Step, instance: Instance, demand: Demand | undefined): boolean {
  if (!isIdle(step, instance, demand)) return false
  const safeUntil = (instance.readyAt ?? step.at) + step.state.limits.minimumResidency
  if (step.at < safeUntil) {
    wake(step, safeUntil)
    return false
  }
  return !isAwaited(step, instance, demand?.ticket)
}

function isIdle(step: Step, instance: Instance, demand: Demand | undefined): boolean {
  if (instance.state !== 'ready' || instance.leases > 0 || instance.model === demand?.model) return false
  return step.state.models.get(instance.model)?.model.pinned !== true
}

/** What losing this instance costs; the cheapest goes first. Least recently used, for want of better knowledge. */
function costOf(instance: Instance): number {
  return instance.usedAt
}

/** All that may be evicted for the demand, cheapest first, of each model only the copies beyond its minimum. */
export function evictable(step: Step, demand: Demand | undefined): Instance[] {
  return spareAmong(step, (instance) => step.rules.mayEvict(step, instance, demand))
}

/** The same with those who were loaded a moment ago and may go soon. */
export function evictableSoon(step: Step, demand: Demand | undefined): Instance[] {
  return spareAmong(
    step,
    (instance) => isIdle(step, instance, demand) && !isAwaited(step, instance, demand?.ticket),
  )
}

function spareAmong(step: Step, may: (instance: Instance) => boolean): Instance[] {
  const left = new Map<string, number>()
  return step.state.instances
    .filter(may)
    .sort((a, b) => costOf(a) - costOf(b))
    .filter(({ model }) => {
      const state = step.state.models.get(model)
      const spare = left.get(model) ?? (state === undefined ? 0 : step.rules.spareCopies(step.state, state))
      left.set(model, spare - 1)
      return spare > 0
    })
}

export function isSoftlyPinned(state: PoolState): (instance: Instance) => boolean {
  return (instance) => state.models.get(instance.model)?.model.pinned === 'soft'
}

type Enough = (victims: readonly Instance[]) => boolean

/** R7: the smallest set that is enough, cheapest first among equals; softly pinned ones only when nothing else will do. */
export function chooseVictims(
  candidates: readonly Instance[],
  isSoft: (instance: Instance) => boolean,
  enough: Enough,
): readonly Instance[] | undefined {
  const others = candidates.filter((instance) => !isSoft(instance))
  const found = smallestSet(others, enough)
  if (found !== undefined || others.length === candidates.length) return found
  return smallestSet([...others, ...candidates.filter(isSoft)], enough)
}

function smallestSet(candidates: readonly Instance[], enough: Enough): readonly Instance[] | undefined {
  if (enough([])) return []
  if (candidates.length === 0 || !enough(candidates)) return undefined
  const most = candidates.length > MANY ? SEARCHED - 1 : SEARCHED
  for (let size = 1; size <= most; size++) {
    const found = firstSet(candidates, size, [], enough)
    if (found !== undefined) return found
  }
  return pruned(candidates, enough)
}

/** The first set of this size that is enough, in the order of the candidates. */
function firstSet(
  candidates: readonly Instance[],
  size: number,
  chosen: readonly Instance[],
  enough: Enough,
): readonly Instance[] | undefined {
  if (size === 0) return enough(chosen) ? chosen : undefined
  for (let index = 0; index + size <= candidates.length; index++) {
    const next = candidates[index]
    if (next === undefined) return undefined
    const found = firstSet(candidates.slice(index + 1), size - 1, [...chosen, next], enough)
    if (found !== undefined) return found
  }
  return undefined
}

/** Everybody, less all who are not needed, the dearest spared first. */
function pruned(candidates: readonly Instance[], enough: Enough): readonly Instance[] {
  let victims = candidates
  for (const instance of candidates.toReversed()) {
    const fewer = victims.filter((victim) => victim !== instance)
    if (enough(fewer)) victims = fewer
  }
  return victims
}
