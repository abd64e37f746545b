import { NEVER_ASKED } from './cost.ts'
import { needsOf } from './budget.ts'
import { NO_CONTEXTS } from './context-worth.ts'
import { dropContextsOf } from './handle-contexts.ts'
import { cutLeases, drain, leavingReason } from './leave.ts'
import { reviewBudget } from './handle-loads.ts'
import { contextsWith, modelWith } from './copies.ts'
import type { EventOf } from './messages.ts'
import { runCut, shuttingDown, withdrawn } from './refusals.ts'
import type { PoolModel } from '../pool-model.ts'
import type { Instance, LeavingCause, ModelState } from './state.ts'
import { changeInstance, changeModel, findInstance, ticketsOf, type Step } from './step.ts'
import { refuse } from './tickets.ts'

/** A model is new, or described anew. Copies made after another plan serve their runs and go (M20). */
export function modelDeclared(step: Step, event: EventOf<'model-declared'>): void {
  const { model, learned, loadTime, asked } = event
  const known = step.state.models.get(model.id)
  const samePlan = known?.model.plan.key === model.plan.key
  const state: ModelState =
    samePlan && known !== undefined
      ? modelWith(known, { model })
      : {
          ...freshModel(known),
          model,
          learned,
          loadTime,
          asked: known?.asked ?? asked ?? NEVER_ASKED,
          ...needsOf(model, learned),
        }
  const minimums = [
    ...step.state.minimums.filter((id) => id !== model.id),
    ...(model.minInstances > 0 ? [model.id] : []),
  ]
  step.state.models = step.state.models.with(model.id, state)
  step.state.minimums = minimums
  for (const instance of instancesOf(step, model.id)) {
    if (instance.plan.key !== model.plan.key)
      drain(step, instance, 'replaced', replacedReason(instance, model))
    else if (known !== undefined && known.model.keepAlive !== model.keepAlive) {
      changeInstance(step, instance.id, { keepAlive: model.keepAlive })
    }
  }
}

/** R19, M3: a request may have asked for more. */
function replacedReason({ plan: old }: Instance, { plan }: PoolModel): string {
  if (old.contextSize === plan.contextSize && old.slots === plan.slots) return leavingReason('replaced')
  const [before, now] = [old, plan].map(({ slots, contextSize }) => `${slots} × ${contextSize}`)
  return `${leavingReason('replaced')}: ${now} tokens instead of ${before}`
}

/** What is told of a model starts anew with another plan, the counts go on. */
function freshModel(
  known: ModelState | undefined,
): Omit<ModelState, 'model' | 'learned' | 'loadTime' | 'asked' | 'promise' | 'needs'> {
  return {
    failures: 0,
    failedAfter: 0,
    retryAt: 0,
    restoreAt: 0,
    lastError: undefined,
    loads: known?.loads ?? 0,
    evictions: known?.evictions ?? 0,
    contexts: contextsWith(known?.contexts ?? NO_CONTEXTS, { strikes: 0, unfit: undefined }),
    shortSince: undefined,
    suspended: false,
  }
}

export function modelWithdrawn(step: Step, event: EventOf<'model-withdrawn'>): void {
  for (const ticket of ticketsOf(step.state, event.model)) refuse(step, ticket, withdrawn(event.model))
  dropContextsOf(step, event.model, 'its model was removed')
  step.state.models = step.state.models.without(event.model)
  step.state.minimums = step.state.minimums.filter((id) => id !== event.model)
  for (const instance of instancesOf(step, event.model)) {
    drain(step, instance, 'withdrawn', leavingReason('withdrawn'))
  }
}

/**
 * An operator's unload: runs may end within `drainTimeout`, or are cut at once with `force`. Whoever waits for the model keeps waiting
 * and has it loaded again (BR-18, BR-70). A minimum is not restored until somebody asks for the model.
 */
export function unloadRequested(step: Step, event: EventOf<'unload-requested'>): void {
  const meant = step.state.instances.filter(
    ({ id, model }) => id === event.instance || (event.instance === undefined && model === event.model),
  )
  const models = new Set(event.model === undefined ? meant.map(({ model }) => model) : [event.model])
  for (const model of models) changeModel(step, model, { suspended: true })
  for (const { id } of meant) unloadOne(step, id, event.force)
}

function unloadOne(step: Step, id: string, force: boolean): void {
  if (force) cutLeases(step, id, runCut(id))
  const instance = findInstance(step.state, id)
  if (instance === undefined) return
  drain(step, instance, 'operator', leavingReason('operator'), step.at + step.state.limits.drainTimeout)
}

export function hostMeasured(step: Step, event: EventOf<'host-measured'>): void {
  step.host = event.reading
  step.state.host = { reading: event.reading, at: step.at }
}

export function limitsChanged(step: Step, event: EventOf<'limits-changed'>): void {
  step.state.limits = event.limits
  reviewBudget(step)
}

/** P12: everybody is answered, every instance goes, the last ones by the deadline. A second stop can only shorten it. */
export function stopRequested(step: Step, event: EventOf<'stop-requested'>): void {
  const cutAt = Math.min(
    step.at + Math.max(0, event.deadline),
    step.state.stopping?.cutAt ?? Number.POSITIVE_INFINITY,
  )
  step.state.stopping = { cutAt }
  for (const { tickets } of step.state.queues)
    for (const ticket of tickets) refuse(step, ticket, shuttingDown())
  for (const { id } of step.state.instances) sendAway(step, id, 'stop', cutAt)
}

function sendAway(step: Step, id: string, cause: LeavingCause, cutAt: number): void {
  const instance = findInstance(step.state, id)
  if (instance !== undefined) drain(step, instance, cause, leavingReason(cause), cutAt)
}

function instancesOf(step: Step, model: string): Instance[] {
  return step.state.instances.filter((instance) => instance.model === model)
}
