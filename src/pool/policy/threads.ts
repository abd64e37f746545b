import { asksByInstance } from './asks.ts'
import type { Instance, PoolState } from './state.ts'
import { noted, type Step, type Turn } from './step.ts'

/** R17: an instance uses its threads while it runs anything or warms up, once however many slots are busy. */
export function usesThreads(instance: Instance): boolean {
  return instance.leases > 0 || (instance.state === 'warming' && instance.coming?.isWarmingUp === true)
}

export function activeThreads(state: PoolState): number {
  let sum = 0
  for (const instance of state.instances) if (usesThreads(instance)) sum += instance.plan.threads
  return sum
}

function isThreadUser(instance: Instance): boolean {
  return usesThreads(instance) && instance.plan.threads > 0
}

export function threadUsers(state: PoolState): Instance[] {
  return state.instances.filter(isThreadUser)
}

/** R17: whether more than one computes. Asked after each event, so it makes no list. */
export function isCrowded(state: PoolState): boolean {
  let users = 0
  for (const instance of state.instances) if (isThreadUser(instance) && ++users > 1) return true
  return false
}

/**
 * R17: whether the instance may run now. One that wants more threads than there are runs when nothing else does. What is asked for within
 * a run may use the threads of all who wait for such things meanwhile (P14).
 */
export function threadsFree(step: Step, turn: Turn, instance: Instance, within?: string): boolean {
  const { threads } = instance.plan
  if (threads === 0) return true
  if (usesThreads(instance)) return within !== undefined || !isOverdrawn(step.state)
  const taken =
    within === undefined ? activeThreads(step.state) + turn.threadsReserved : computingThreads(step.state)
  return taken === 0 || taken + threads <= step.state.limits.threads
}

/** P14: more threads than there are belong to runs that wait for each other; until that is over nobody joins them. */
function isOverdrawn(state: PoolState): boolean {
  return activeThreads(state) > state.limits.threads && asksByInstance(state).size > 0
}

/** Threads of those that do not wait, with all their runs, for something they asked for. */
function computingThreads(state: PoolState): number {
  const asks = asksByInstance(state)
  let sum = 0
  for (const instance of state.instances) {
    if (usesThreads(instance) && (asks.get(instance.id) ?? 0) < Math.max(1, instance.leases))
      sum += instance.plan.threads
  }
  return sum
}

/**
 * R9 for threads: whoever has waited long enough gets the next ones. The smallest users beside which it fits go on; the others take
 * no younger tickets until it runs.
 */
export function holdForThreads(
  step: Step,
  turn: Turn,
  needed: number,
  of: { model: string; since: number },
): void {
  let kept = 0
  for (const user of threadUsers(step.state).sort((a, b) => a.plan.threads - b.plan.threads)) {
    if (kept + user.plan.threads + needed <= step.state.limits.threads) kept += user.plan.threads
    else turn.held = noted(turn.held, user.id, of)
  }
  turn.threadsReserved += needed
}
