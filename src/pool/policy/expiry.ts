import type { PoolLimits } from '../limits.ts'
import { leavingReason, beginUnload } from './leave.ts'
import type { Instance, ModelState } from './state.ts'
import { ticketsOf, wake, type Step } from './step.ts'

/**
 * R13: when an idle instance goes. Counted from the end of the last lease (BR-21); one that has not served yet from when it became
 * ready, and no sooner than its minimum residency (F13).
 */
export function expiresAt(instance: Instance, model: ModelState, limits: PoolLimits): number {
  if (instance.state !== 'ready' || instance.leases > 0) return Number.POSITIVE_INFINITY
  if (model.model.pinned !== false || instance.keepAlive < 0) return Number.POSITIVE_INFINITY
  const keep = instance.served ? instance.keepAlive : Math.max(instance.keepAlive, limits.minimumResidency)
  return instance.usedAt + keep
}

/** R13, F13: unloads what has been idle too long, counting in one step, so that `minInstances` stay. */
export function sweepIdle(step: Step): void {
  let expired: Instance[] | undefined
  for (const instance of step.state.instances) {
    if (instance.state !== 'ready' || instance.leases > 0) continue
    const model = step.state.models.get(instance.model)
    if (model === undefined) continue
    const at = step.rules.expiresAt(instance, model, step.state.limits)
    if (at <= step.at) (expired ??= []).push(instance)
    else wake(step, at)
  }
  if (expired === undefined) return
  for (const instance of expired.sort((a, b) => a.usedAt - b.usedAt)) expire(step, instance)
}

function expire(step: Step, instance: Instance): void {
  const model = step.state.models.get(instance.model)
  if (model === undefined || step.rules.spareCopies(step.state, model) === 0) return
  if (ticketsOf(step.state, instance.model).length > 0) return
  beginUnload(step, instance, 'idle', leavingReason('idle'))
}
