import type { SerializedError } from '../../base/errors.ts'
import type { LoadFailureClass } from '../../engines/engine.ts'
import type { PoolLimits } from '../limits.ts'
import { loadFailed } from './refusals.ts'
import type { Instance } from './state.ts'
import { announce, changeModel, copiesOf, ticketsOf, type Step } from './step.ts'
import { refuse } from './tickets.ts'

/** A worker that lived this long before it died is not in a crash loop. */
const LIVED_LONG = 60_000

/** R11: milliseconds after so many failures in a row, doubling up to the cap. */
export function backoff(failures: number, limits: PoolLimits): number {
  const { first, most } = limits.backoff
  return failures <= 0 ? 0 : Math.min(most, first * 2 ** Math.min(30, failures - 1))
}

/** R11, F5: the cause goes to all who waited, the model is tried again later, nothing is bricked. The instance is the caller's to remove. */
export function noteFailedLoad(
  step: Step,
  instance: Instance,
  error: SerializedError,
  failure: LoadFailureClass,
  logTail: readonly string[],
): void {
  const model = step.state.models.get(instance.model)
  const failures = (model?.failures ?? 0) + 1
  const retryIn = step.rules.backoff(failures, step.state.limits)
  const lastError = withFailure(error, failure, logTail)
  changeModel(step, instance.model, {
    failures,
    failedAfter: step.state.loads,
    retryAt: step.at + retryIn,
    lastError,
  })
  announce(step, 'load-failed', {
    model: instance.model,
    instance: instance.id,
    code: error.code,
    failure,
    message: error.message,
    retryIn,
    logTail: [...logTail],
  })
  if (model !== undefined && instance.plan.key === model.model.plan.key)
    tellWaiting(step, instance, lastError, retryIn)
}

function withFailure(
  error: SerializedError,
  failure: LoadFailureClass,
  logTail: readonly string[],
): SerializedError {
  return { ...error, details: { ...error.details, failure, logTail: [...logTail] } }
}

/** All who waited for this load, unless another copy serves them. */
function tellWaiting(step: Step, failed: Instance, error: SerializedError, retryIn: number): void {
  const model = step.state.models.get(failed.model)
  if (model === undefined) return
  const others = copiesOf(step.state, model).filter(
    ({ id, state }) => id !== failed.id && (state === 'ready' || state === 'warming' || state === 'loading'),
  )
  if (others.length > 0) return
  const cause = loadFailed(error, failed.model, retryIn)
  for (const ticket of ticketsOf(step.state, failed.model)) refuse(step, ticket, cause)
}

/** Crashes in a row after which the model is back at once: a run is repeated (R11), and what ends two workers is the request's fault (P16). */
const FORGIVEN = 2

/** M19: a crash in service. A crash loop backs off. */
export function noteCrash(step: Step, instance: Instance, error: SerializedError): void {
  const model = step.state.models.get(instance.model)
  if (model === undefined) return
  const lived = step.at - (instance.readyAt ?? step.at)
  const failures = lived >= LIVED_LONG ? 1 : model.failures + 1
  const again = step.at + step.rules.backoff(failures - FORGIVEN, step.state.limits)
  const retryAt = Math.max(model.retryAt, again)
  changeModel(step, instance.model, { failures, failedAfter: step.state.loads, retryAt, lastError: error })
}

/** A lease that ended well on a copy made since the last failure proves that the model works again. */
export function noteSuccess(step: Step, instance: Instance): void {
  const model = step.state.models.get(instance.model)
  if (model === undefined || (model.failures === 0 && model.lastError === undefined)) return
  if (instance.number <= model.failedAfter) return
  changeModel(step, instance.model, { failures: 0, retryAt: 0, lastError: undefined })
}
