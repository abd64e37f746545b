import { formatBytes } from '../../base/bytes.ts'
import { formatDuration } from '../../base/durations.ts'
import type { SerializedError } from '../../base/errors.ts'
import { dropOutgrown } from './context-budget.ts'
import { instanceWith } from './copies.ts'
import { costSentence } from './cost.ts'
import { forgetUnwritten, parkAll } from './park.ts'
import type { HeldLease, Instance, LeavingCause } from './state.ts'
import { announce, changeModel, command, findInstance, setInstance, type Demand, type Step } from './step.ts'

/** Milliseconds after which an unload that was not seen to end is reported, and no longer waited for (R8). */
export const UNLOAD_PATIENCE = 60_000

/** R8: unloading is a state; the bytes stay charged until they are seen back. */
export function beginUnload(step: Step, instance: Instance, cause: LeavingCause, reason: string): void {
  // R16: what it holds is written first; the bytes stay charged all the while.
  const park = parkAll(step, instance, cause)
  setInstance(step, onItsWay(step, instance, cause))
  command(step, { type: 'start-unload', instance: instance.id, ...(park.length > 0 && { park }) })
  announce(step, 'unload-started', { model: instance.model, instance: instance.id, reason })
}

/** A load that is given up. The same state: what it holds is charged until `load-failed` says that nothing stayed. */
export function cancelLoad(step: Step, instance: Instance, cause: LeavingCause, reason: string): void {
  setInstance(step, onItsWay(step, instance, cause))
  command(step, { type: 'cancel-load', instance: instance.id })
  announce(step, 'unload-started', { model: instance.model, instance: instance.id, reason })
}

/** The same when the process went by itself: there is nothing left to order. */
export function noteExit(step: Step, instance: Instance): void {
  if (instance.state !== 'unloading') setInstance(step, onItsWay(step, instance, 'exited'))
}

function onItsWay(step: Step, instance: Instance, cause: LeavingCause): Instance {
  const deadline = step.at + UNLOAD_PATIENCE
  // R7: what is known of the demand outlives the copy.
  changeModel(step, instance.model, { asked: instance.asked })
  const leaving = { cause, since: step.at, isStuck: false }
  return instanceWith(instance, { state: 'unloading', leaving, deadline, coming: undefined })
}

/** R7, R19: who goes, for whom, and what it frees. */
export function evict(step: Step, victim: Instance, demand: Demand): void {
  const model = step.state.models.get(victim.model)
  changeModel(step, victim.model, { evictions: (model?.evictions ?? 0) + 1 })
  const idle = formatDuration(step.at - victim.usedAt)
  beginUnload(
    step,
    victim,
    'evicted',
    `frees ${formatBytes(victim.total)} for "${demand.model}" (${formatBytes(demand.total)}); idle for ${idle}, ${costSentence(step, victim)}`,
  )
}

/** Takes no new tickets; goes when the last lease is back, or when `cutAt` has come. */
export function drain(
  step: Step,
  instance: Instance,
  cause: LeavingCause,
  reason: string,
  cutAt?: number,
): void {
  if (instance.state === 'loading' || instance.state === 'warming') {
    giveUp(step, instance, cause, reason)
    return
  }
  if (instance.state === 'unloading') return
  const deadline = earlier(instance.state === 'draining' ? instance.deadline : undefined, cutAt)
  if (instance.leases === 0) beginUnload(step, instance, cause, reason)
  else {
    const leaving = { cause, since: step.at, isStuck: false }
    setInstance(step, instanceWith(instance, { state: 'draining', leaving, deadline }))
  }
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return Math.min(a, b)
}

/** Ends a load or a warm-up before it is through. */
export function giveUp(step: Step, instance: Instance, cause: LeavingCause, reason: string): void {
  if (instance.state === 'loading') cancelLoad(step, instance, cause, reason)
  else beginUnload(step, instance, cause, reason)
}

/** Ends every lease of an instance: its slots are nobody's from here on, and late releases change nothing. */
export function cutLeases(step: Step, id: string, error: SerializedError): void {
  const instance = findInstance(step.state, id)
  if (instance === undefined || instance.leases === 0) return
  for (const [index, { lease }] of instance.slots.entries()) {
    if (lease === undefined) continue
    forgetUnwritten(step, (context) => lease.parking.includes(context.id))
    command(step, { type: 'cut-lease', lease: lease.id, instance: id, error })
    announceRelease(step, instance, index, lease)
  }
  const slots = instance.slots.map((slot) =>
    slot.lease === undefined ? slot : { chain: [], tokens: 0, usedAt: step.at, lease: undefined },
  )
  const runs = instance.slots.filter(({ lease }) => lease !== undefined && lease.within === undefined).length
  step.state.runs = step.state.runs - runs
  setInstance(step, instanceWith(instance, { slots, leases: 0, usedAt: step.at }))
  for (const { lease } of instance.slots) dropOutgrown(step, lease?.reading)
}

export function announceRelease(step: Step, instance: Instance, slot: number, lease: HeldLease): void {
  const heldMs = step.at - lease.grantedAt
  announce(step, 'lease-released', {
    model: instance.model,
    instance: instance.id,
    slot,
    lease: lease.id,
    heldMs,
  })
}

const REASONS: Record<LeavingCause, string> = {
  cancelled: 'nobody waits for it any more',
  evicted: 'another model needs its memory',
  exited: 'its process ended',
  failed: 'it could not be made ready',
  idle: 'it was idle for as long as keepAlive allows',
  operator: 'an operator asked for it',
  replaced: 'its model was declared anew with another plan',
  stop: 'the yard is shutting down',
  withdrawn: 'its model was removed',
}

export function leavingReason(cause: LeavingCause): string {
  return REASONS[cause]
}
