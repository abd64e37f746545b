import type { MeasuredFootprint } from '../../host/memory.ts'
import { dropForeign } from './handle-contexts.ts'
import { forgetUnwritten } from './park.ts'
import { bookingOf, domainsOf, needsOf } from './budget.ts'
import { noteCrash, noteFailedLoad } from './failure.ts'
import { beginUnload, cutLeases, noteExit } from './leave.ts'
import { instanceWith } from './copies.ts'
import type { EventOf } from './messages.ts'
import { crashedWhileLoading, workerExited } from './refusals.ts'
import { loadPatience } from './start-load.ts'
import type { Instance } from './state.ts'
import {
  announce,
  changeModel,
  command,
  findInstance,
  removeInstance,
  setInstance,
  type Step,
} from './step.ts'
import { isOverBudget } from './trim.ts'

/** M10: each sign of progress starts the load's deadline anew. */
export function loadProgressed(step: Step, event: EventOf<'load-progressed'>): void {
  const instance = findInstance(step.state, event.instance)
  if (instance === undefined || instance.state !== 'loading') return
  const progress = event.fraction ?? instance.coming?.progress
  const deadline = step.at + loadPatience(step, instance.plan.loadBytes)
  const coming = { progress, loadedAt: undefined, isWarmingUp: false }
  setInstance(step, instanceWith(instance, { coming, deadline }))
  if (event.fraction === undefined) return
  announce(step, 'load-progressed', {
    model: instance.model,
    instance: instance.id,
    fraction: event.fraction,
  })
}

/** R12: loaded is not ready; it warms up as soon as there are threads for it. */
export function loadFinished(step: Step, event: EventOf<'load-finished'>): void {
  const instance = findInstance(step.state, event.instance)
  // F17: it came through although it was given up: now there is something to unload.
  if (instance?.state === 'unloading') return command(step, { type: 'start-unload', instance: instance.id })
  if (instance === undefined || instance.state !== 'loading') return
  const deadline = step.at + loadPatience(step, instance.plan.loadBytes)
  const loaded = instanceWith(instance, {
    state: 'warming',
    stateIdentity: event.stateIdentity,
    savesWhileAnswering: event.savesWhileAnswering ?? false,
    coming: { progress: undefined, loadedAt: step.at, isWarmingUp: false },
    deadline,
  })
  setInstance(step, loaded)
  dropForeign(step, loaded)
  announce(step, 'load-finished', {
    model: instance.model,
    instance: instance.id,
    took: step.at - instance.startedAt,
  })
}

/** F5: failure removes the instance, returns its bytes, tells the cause, backs off. */
export function loadFailed(step: Step, event: EventOf<'load-failed'>): void {
  const instance = findInstance(step.state, event.instance)
  if (instance === undefined) return
  removeInstance(step, instance.id)
  reviewBudget(step)
  if (instance.state === 'unloading') return announceGone(step, instance, instance.total)
  noteFailedLoad(step, instance, event.error, event.failure, event.logTail)
}

/** F24: published last, when nothing can fail any more. */
export function warmUpFinished(step: Step, event: EventOf<'warm-up-finished'>): void {
  const instance = findInstance(step.state, event.instance)
  if (instance === undefined || instance.state !== 'warming') return
  const ready = instanceWith(instance, {
    state: 'ready',
    readyAt: step.at,
    usedAt: step.at, // F13: a fresh instance is not stale
    measured: event.measured,
    ...bookingOf(instance.promise, event.measured, instance.plan),
    deadline: undefined,
    coming: undefined,
  })
  setInstance(step, ready)
  learn(step, ready)
  noteLoadTime(step, ready)
  reviewBudget(step)
  announce(step, 'instance-ready', {
    model: instance.model,
    instance: instance.id,
    took: step.at - instance.startedAt,
    measured: measuredBytes(event.measured),
    firstToken: event.firstToken ?? null,
  })
}

/** R7: how long it takes to have the model back, the last loads counting most. */
function noteLoadTime(step: Step, ready: Instance): void {
  const model = step.state.models.get(ready.model)
  if (model?.model.plan.key !== ready.plan.key) return
  const took = step.at - ready.startedAt
  const loadTime = model.loadTime === undefined ? took : model.loadTime * 0.7 + took * 0.3
  changeModel(step, ready.model, { loadTime })
}

/** The process is there and is of no use: it goes the way of every unload. */
export function warmUpFailed(step: Step, event: EventOf<'warm-up-failed'>): void {
  const instance = findInstance(step.state, event.instance)
  if (instance === undefined || instance.state !== 'warming') return
  beginUnload(step, instance, 'failed', event.error.message)
  noteFailedLoad(step, instance, event.error, event.failure, event.logTail)
}

/** M12: what was seen counts from now on, if it is more than was promised. */
export function instanceMeasured(step: Step, event: EventOf<'instance-measured'>): void {
  const instance = findInstance(step.state, event.instance)
  if (instance === undefined) return
  const { measured } = event
  const booking = bookingOf(instance.promise, measured, instance.plan)
  const known = instanceWith(instance, { measured, ...booking })
  setInstance(step, known)
  learn(step, known)
  reviewBudget(step)
}

/** R4: the most that was ever seen of this plan corrects the next estimate. */
function learn(step: Step, instance: Instance): void {
  const model = step.state.models.get(instance.model)
  if (instance.measured === undefined || model?.model.plan.key !== instance.plan.key) return
  const learned = larger(model.learned, instance.measured)
  if (learned === model.learned) return
  changeModel(step, instance.model, { learned, ...needsOf(model.model, learned) })
}

function larger(known: MeasuredFootprint | undefined, seen: MeasuredFootprint): MeasuredFootprint {
  if (known === undefined) return seen
  const grown = domainsOf(seen).filter((domain) => isMore(seen, known, domain))
  if (grown.length === 0) return known
  const most = { ...known }
  for (const domain of grown) {
    most[domain] = {
      private: Math.max(seen[domain]?.private ?? 0, known[domain]?.private ?? 0),
      shared: Math.max(seen[domain]?.shared ?? 0, known[domain]?.shared ?? 0),
    }
  }
  return most
}

function isMore(seen: MeasuredFootprint, known: MeasuredFootprint, domain: keyof MeasuredFootprint): boolean {
  const before = known[domain]
  const now = seen[domain]
  return now !== undefined && (now.private > (before?.private ?? -1) || now.shared > (before?.shared ?? -1))
}

/** M19: seen at once; its runs end with a clear error, the model comes back by itself. */
export function instanceExited(step: Step, event: EventOf<'instance-exited'>): void {
  const instance = findInstance(step.state, event.instance)
  if (instance === undefined || instance.state === 'unloading') return
  const { reason, logTail } = event
  cutLeases(step, instance.id, workerExited(instance.id, reason, logTail))
  noteExit(step, findInstance(step.state, instance.id) ?? instance)
  announce(step, 'instance-exited', {
    model: instance.model,
    instance: instance.id,
    reason,
    logTail: [...logTail],
  })
  if (instance.state === 'loading' || instance.state === 'warming') {
    const error = crashedWhileLoading(instance.model, reason, logTail)
    noteFailedLoad(step, instance, error, 'crash', logTail)
  } else noteCrash(step, instance, workerExited(instance.id, reason, logTail))
}

/** R8: the proof is there; now, and not before, the bytes are free. */
export function memoryReturned(step: Step, event: EventOf<'memory-returned'>): void {
  const instance = findInstance(step.state, event.instance)
  if (instance === undefined) return
  removeInstance(step, event.instance)
  forgetUnwritten(step, ({ writer }) => writer === event.instance)
  reviewBudget(step)
  announceGone(step, instance, event.released)
  if (event.leaked <= 0) return
  const message = `${instance.id} is gone, but ${event.leaked} bytes it held are not seen back.`
  announce(step, 'warning-raised', { code: 'memory_leaked', message })
}

function announceGone(step: Step, instance: Instance, released: number): void {
  const took = step.at - (instance.leaving?.since ?? step.at)
  announce(step, 'unload-finished', { model: instance.model, instance: instance.id, released, took })
}

function measuredBytes(measured: MeasuredFootprint = {}): number {
  let sum = 0
  for (const domain of domainsOf(measured)) {
    const seen = measured[domain]
    if (seen !== undefined) sum += seen.private + seen.shared
  }
  return sum
}

/** Notes whether more is booked than may be, after anything that can change the answer. */
export function reviewBudget(step: Step): void {
  const overBudget = isOverBudget(step, step.state.instances)
  if (overBudget !== step.state.overBudget) step.state.overBudget = overBudget
}
