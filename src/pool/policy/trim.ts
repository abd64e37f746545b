import { formatBytes } from '../../base/bytes.ts'
import { isLarge, largeModels, limitOf, overrun } from './budget.ts'
import { costs, evictable, isSoftlyPinned } from './evict.ts'
import { beginUnload } from './leave.ts'
import { isReturning } from './books.ts'
import type { Instance, PoolState } from './state.ts'
import { changeModel, type Step } from './step.ts'

/** What is booked may be above the budget for good reason only while an operator's forced load is in memory (R4). */
function isForced(state: PoolState): boolean {
  return state.instances.some((instance) => instance.forced)
}

/** Whether some domain holds more than its limit, or more large models are in memory than may be. */
export function isOverBudget(step: Step, instances: readonly Instance[]): boolean {
  const { limits } = step.state
  if (overrun(step.rules.ledger(instances), limits, isForced(step.state)) !== undefined) return true
  return largeModels(instances, limits).length > limits.maxLargeModels
}

/**
 * R4: a measurement or new limits left more booked than may be. Idle instances go by the same rule as victims, as few as will do; running
 * ones never. Until then nothing new fits.
 */
export function trim(step: Step): void {
  if (!step.state.overBudget) return
  const staying = step.state.instances.filter((instance) => !isReturning(instance))
  const remedied = (victims: readonly Instance[]): boolean =>
    !isOverBudget(
      step,
      staying.filter((instance) => !victims.includes(instance)),
    )
  const candidates = evictable(step, undefined).filter((instance) => helps(step, instance))
  const isSoft = isSoftlyPinned(step.state)
  const victims = step.rules.chooseVictims(candidates, isSoft, remedied, costs(step)) ?? candidates
  for (const victim of victims) dismiss(step, victim)
  const overBudget = isOverBudget(step, step.state.instances)
  if (overBudget !== step.state.overBudget) step.state.overBudget = overBudget
}

/** It holds something of what there is too much of. */
function helps(step: Step, instance: Instance): boolean {
  const { limits, instances } = step.state
  const over = overrun(step.rules.ledger(instances), limits, isForced(step.state))
  if (over !== undefined) return (step.rules.ledger([instance])[over.domain] ?? 0) > 0
  return isLarge(instance, limits)
}

function dismiss(step: Step, victim: Instance): void {
  const model = step.state.models.get(victim.model)
  changeModel(step, victim.model, { evictions: (model?.evictions ?? 0) + 1 })
  const over = overrun(step.rules.ledger(step.state.instances), step.state.limits, isForced(step.state))
  const why =
    over === undefined
      ? `more than ${step.state.limits.maxLargeModels} large models are in memory`
      : `${over.domain} holds ${formatBytes(over.booked)} and may hold ${formatBytes(limitOf(step.state.limits, over.domain, isForced(step.state)))}`
  beginUnload(step, victim, 'evicted', `${why}; frees ${formatBytes(victim.total)}`)
}
