import { formatBytes } from '../../base/bytes.ts'
import { formatDuration } from '../../base/durations.ts'
import type { ErrorCode, SerializedError } from '../../base/errors.ts'
import { nearestNames } from '../../base/nearest.ts'
import type { MemoryDomain } from '../../host/memory.ts'
import type { Ticket } from './state.ts'
import type { Shortage } from './step.ts'

type Details = Record<string, unknown>

function refusal(code: ErrorCode, message: string, details: Details, retryAfter?: number): SerializedError {
  return retryAfter === undefined ? { code, message, details } : { code, message, details, retryAfter }
}

export function shuttingDown(): SerializedError {
  return refusal('shutting_down', 'The yard is shutting down and takes no more requests.', {})
}

export function unknownModel(model: string, known: Iterable<string>): SerializedError {
  const nearest = nearestNames(model, known)
  const hint = nearest.length === 0 ? '' : ` Did you mean ${nearest.map((name) => `"${name}"`).join(' or ')}?`
  return refusal('model_not_found', `There is no model "${model}".${hint}`, { model, nearest })
}

export function withdrawn(model: string): SerializedError {
  return refusal('model_not_found', `The model "${model}" was removed while the request waited.`, {
    model,
    nearest: [],
  })
}

export function queueFull(
  model: string,
  queued: number,
  limit: number,
  place: number,
  retryAfter: number,
): SerializedError {
  const message = `${queued} requests wait already for "${model}" (at most ${limit} may); this one would be number ${queued + 1}. Try again in ${formatDuration(retryAfter)}.`
  return refusal('queue_full', message, { model, queued, limit, place }, retryAfter)
}

export function busy(model: string): SerializedError {
  return refusal('queue_full', `No slot of "${model}" is free at this moment.`, { model }, 1000)
}

export function waitedTooLong(ticket: Ticket, at: number, reason: string): SerializedError {
  const waited = at - ticket.arrivedAt
  const message = `"${ticket.model}" could not be had within ${formatDuration(waited)}: ${reason}.`
  return refusal('timeout', message, { model: ticket.model, waited })
}

export interface TooLarge {
  model: string
  /** Models it uses, counted in `need` (P14). */
  uses: readonly string[]
  domain: MemoryDomain
  need: number
  limit: number
  /** Instances that are never evicted, with what they hold in that domain. */
  pinned: { instance: string; bytes: number }[]
  largestContext: number | null
  contextSize: number
}

/** R6 */
export function tooLarge(facts: TooLarge): SerializedError {
  const { model, uses, domain, need, limit, pinned, largestContext, contextSize } = facts
  const held = pinned.reduce((sum, { bytes }) => sum + bytes, 0)
  const names = pinned.map(({ instance, bytes }) => `${instance} (${formatBytes(bytes)})`).join(', ')
  const beside =
    pinned.length === 0 ? '' : `, of which ${formatBytes(held)} are held for good by pinned ${names}`
  const remedy = remedyFor(uses.length > 0, largestContext, contextSize)
  const parts = uses.length === 0 ? '' : ` with what it uses (${uses.join(', ')})`
  const message = `"${model}"${parts} needs ${formatBytes(need)} of ${domain}, the limit is ${formatBytes(limit)}${beside}.${remedy}`
  return refusal('model_too_large', message, { ...facts })
}

function remedyFor(hasParts: boolean, largestContext: number | null, asked: number): string {
  if (hasParts) return ' Raise the budget, unpin something or choose smaller models.'
  if (largestContext !== null) return ` The largest context that fits is ${largestContext} (asked: ${asked}).`
  return ' No context is small enough to fit; raise the budget, unpin something or choose a smaller model.'
}

/** P14: the copy that is there and what it uses are too much, whatever a fresh one would take. */
export function notTogether(model: string, uses: readonly string[]): SerializedError {
  const message = `"${model}" and what it uses (${uses.join(', ')}) do not fit into memory together. Raise the budget or choose smaller models.`
  return refusal('model_too_large', message, { model, uses })
}

/** M6 with nobody who may go. */
export function tooManyLarge(model: string, limit: number, pinned: readonly string[]): SerializedError {
  const message = `At most ${limit} large models may be in memory, and all places are held for good by ${pinned.join(', ')}. Unpin one or raise memory.maxLargeModels to load "${model}".`
  return refusal('model_too_large', message, { model, limit, pinned })
}

/** R14: with a device for each instance. */
export function deviceOwned(model: string, domain: MemoryDomain, owners: readonly string[]): SerializedError {
  const message = `"${model}" wants ${domain}, which belongs to ${owners.join(', ')} alone (gpu.exclusive) and for good. Unpin it, give "${model}" another device, or switch gpu.exclusive off.`
  return refusal('model_too_large', message, { model, domain, owners: [...owners] })
}

/** R5 */
export function hostShort(
  model: string,
  shortage: Shortage,
  waited: number,
  retryAfter: number,
): SerializedError {
  const { domain, needed, available } = shortage
  const has = available === undefined ? 'cannot be read' : `is ${formatBytes(available)}`
  const message = `"${model}" needs ${formatBytes(needed)} of free ${domain}, headroom included; after ${formatDuration(waited)} of waiting what is free ${has}. Close other programs or lower memory.headroom, then try again.`
  const details = { model, domain, need: needed, available: available ?? null }
  return refusal('insufficient_memory', message, details, retryAfter)
}

/** R11: the cause of the failed load, and when it is tried again. */
export function loadFailed(error: SerializedError, model: string, retryAfter: number): SerializedError {
  const again = ` It is tried again in ${formatDuration(retryAfter)} at the earliest.`
  return refusal(error.code, error.message + again, { ...error.details, model }, retryAfter)
}

export function loadTimedOut(model: string, elapsed: number, limit: number): SerializedError {
  const message = `Loading "${model}" showed no progress for ${formatDuration(limit)} (${formatDuration(elapsed)} after it began) and was given up.`
  return refusal('model_load_failed', message, { model, failure: 'timeout', elapsed, limit, logTail: [] })
}

export function workerExited(instance: string, reason: string, logTail: readonly string[]): SerializedError {
  return refusal('worker_exited', `${instance} ended: ${reason}`, { instance, reason, logTail: [...logTail] })
}

export function crashedWhileLoading(
  model: string,
  reason: string,
  logTail: readonly string[],
): SerializedError {
  const details = { model, failure: 'crash', logTail: [...logTail] }
  return refusal('model_load_failed', `"${model}" ended while it was loaded: ${reason}`, details)
}

export function runCut(instance: string): SerializedError {
  return refusal('run_cut', `The run was ended because ${instance} is unloaded by an operator.`, { instance })
}
