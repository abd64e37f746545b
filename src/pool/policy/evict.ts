import type { PoolLimits } from '../limits.ts'
import { lostContextTime, reloadTime } from './cost.ts'
import { isAwaited } from './fairness.ts'
import type { Instance, ModelState, PoolState } from './state.ts'
import { wake, type Demand, type Step } from './step.ts'

/** Sets up to this size are searched completely; beyond it a greedy choice is pruned. */
const SEARCHED = 3
const MANY = 10

/** R13: ready copies beyond `minInstances`: only these may go by our own decision. */
export function spareCopies(state: PoolState, model: ModelState): number {
  const { id, plan, minInstances } = model.model
  let ready = 0
  for (const one of state.instances)
    if (one.model === id && one.state === 'ready' && one.plan.key === plan.key) ready++
  return Math.max(0, ready - minInstances)
}

/** R7, F19: idle, not pinned, past its minimum residency, and nobody older waits for it. */
export function mayEvict(step: Step, instance: Instance, demand: Demand | undefined): boolean {
  if (!isIdle(step, instance, demand)) return false
  if (isFresh(step, instance)) return false
  return !isAwaited(step, instance, demand?.ticket)
}

/** It was loaded or used a moment ago; when that is over is looked at again. */
function isFresh(step: Step, instance: Instance): boolean {
  if (step.at >= step.rules.safeUntil(instance, step.state.limits)) return false
  const mayGoAt = step.rules.safeUntil(instance, residencyOf(step, instance))
  wake(step, mayGoAt)
  return step.at < mayGoAt
}

/** F20: nobody waits longer for a copy to have had its stay than it takes to have it and its contexts back. */
export function residencyOf(step: Step, instance: Instance): PoolLimits {
  const { limits, models } = step.state
  const model = models.get(instance.model)
  const reload = reloadTime(instance, model)
  // Most load for longer than that, whatever their contexts.
  if (reload >= limits.minimumResidency) return limits
  const back = reload + lostContextTime(step, instance, model)
  return back >= limits.minimumResidency ? limits : { ...limits, minimumResidency: back }
}

/**
 * R7, F20: until when an idle instance is safe: its minimum residency, and as long as its turn is not over also half of that after each
 * use, for whoever was answered a moment ago, an agent above all, will ask again in a moment.
 */
export function safeUntil(
  { readyAt = Number.POSITIVE_INFINITY, served, usedAt }: Instance,
  limits: PoolLimits,
): number {
  const lingers = served ? Math.min(usedAt + limits.minimumResidency / 2, readyAt + limits.swapPatience) : 0
  return Math.max(readyAt + limits.minimumResidency, lingers)
}

function isIdle(step: Step, instance: Instance, demand: Demand | undefined): boolean {
  if (instance.state !== 'ready' || instance.leases > 0 || instance.model === demand?.model) return false
  return step.state.models.get(instance.model)?.model.pinned !== true
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
  const candidates = step.state.instances.filter(may)
  if (candidates.length === 0) return candidates
  const cost = costs(step)
  if (candidates.length > 1) candidates.sort((a, b) => cost(a) - cost(b) || a.usedAt - b.usedAt)
  const left = new Map<string, number>()
  const isSpare = ({ model }: Instance): boolean => {
    const state = step.state.models.get(model)
    const spare = left.get(model) ?? (state === undefined ? 0 : step.rules.spareCopies(step.state, state))
    left.set(model, spare - 1)
    return spare > 0
  }
  if (areOfDifferentModels(candidates)) return candidates.filter(isSpare)
  // Copies of one model can differ in what they hold: the smaller stay, or what is needed might never come free (R9).
  const spare = new Set(candidates.toSorted((a, b) => b.total - a.total).filter(isSpare))
  return candidates.filter((instance) => spare.has(instance))
}

function areOfDifferentModels(instances: readonly Instance[]): boolean {
  return instances.every(({ model }, index) => instances.findIndex((one) => one.model === model) === index)
}

export function isSoftlyPinned(state: PoolState): (instance: Instance) => boolean {
  return (instance) => state.models.get(instance.model)?.model.pinned === 'soft'
}

type Enough = (victims: readonly Instance[]) => boolean
type Cost = (instance: Instance) => number

/** What losing each would cost at this moment, worked out once, whoever waits. */
export function costs(step: Step): Cost {
  const { models } = step.state
  if (step.costs?.of !== models) step.costs = { of: models, known: new Map() }
  const { known } = step.costs
  return (instance) => {
    const before = known.get(instance)
    if (before !== undefined) return before
    const cost = step.rules.costOf(step, instance)
    known.set(instance, cost)
    return cost
  }
}

/**
 * R7: the set that is enough at the least cost; softly pinned ones only when nothing else will do. Candidates come cheapest first; without
 * costs it is the smallest set, the first of them.
 */
export function chooseVictims(
  candidates: readonly Instance[],
  isSoft: (instance: Instance) => boolean,
  enough: Enough,
  costOf: Cost = () => 1,
): readonly Instance[] | undefined {
  const others = candidates.filter((instance) => !isSoft(instance))
  const found = cheapestSet(others, enough, costOf)
  if (found !== undefined || others.length === candidates.length) return found
  return cheapestSet([...others, ...candidates.filter(isSoft)], enough, costOf)
}

function cheapestSet(
  candidates: readonly Instance[],
  enough: Enough,
  costOf: Cost,
): readonly Instance[] | undefined {
  if (enough([])) return []
  if (candidates.length === 0 || !enough(candidates)) return undefined
  const single = candidates.find((instance) => enough([instance]))
  const found = single === undefined ? pruned(candidates, enough) : [single]
  const cost = found.reduce((sum, instance) => sum + costOf(instance), 0)
  const most = candidates.length > MANY ? SEARCHED - 1 : SEARCHED
  return cheaperSet({ candidates, enough, costOf, most }, 0, [], { set: found, cost }, 0).set
}

interface Search {
  readonly candidates: readonly Instance[]
  readonly enough: Enough
  readonly costOf: Cost
  /** Members a set may have. */
  readonly most: number
}

interface Found {
  readonly set: readonly Instance[]
  readonly cost: number
}

/** The best of the sets that begin with the chosen ones and go on with candidates from `from` on; `best` unless one is cheaper. */
function cheaperSet(
  search: Search,
  from: number,
  chosen: readonly Instance[],
  best: Found,
  spent: number,
): Found {
  const { candidates, enough, costOf, most } = search
  for (let index = from; index < candidates.length; index++) {
    const next = candidates[index] as Instance
    const cost = spent + costOf(next)
    if (cost >= best.cost) continue
    const set = [...chosen, next]
    if (enough(set)) best = { set, cost }
    else if (set.length < most) best = cheaperSet(search, index + 1, set, best, cost)
  }
  return best
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
