import { formatBytes } from '../base/bytes.ts'
import { ModelyardError } from '../base/errors.ts'
import type { PoolLimits } from '../pool/limits.ts'

/** Part of a model's file that is in memory whatever the engine: some skip layers that only serve training or drafts, none skips more. */
const LEAST_LOADED = 0.9

/** A file whose model can never be loaded under the budgets that hold now. */
export interface OversizedFile {
  /** A sentence with both numbers. */
  reason: string
  details: { model: string; fileBytes: number; need: number; limit: number }
}

/**
 * Whether a file need not be fetched to know that its model can never be loaded (R6): it is larger than all budgets together, devices
 * included. Undefined where it may fit; the real estimate is made from the whole file.
 */
export function oversizedFile(
  model: string,
  fileBytes: number,
  { memory }: Pick<PoolLimits, 'memory'>,
): OversizedFile | undefined {
  const limit = Object.values(memory).reduce((sum, domain) => sum + (domain?.budget ?? 0), 0)
  const need = Math.floor(fileBytes * LEAST_LOADED)
  if (need <= limit) return undefined
  const domains = Object.keys(memory).join(' and ')
  const reason = `The file of "${model}" has ${formatBytes(fileBytes)}, the budget of ${domains} is ${formatBytes(limit)}: it would never fit.`
  return { reason, details: { model, fileBytes, need, limit } }
}

/** Before a fetch for a request. @throws ModelyardError `model_too_large` */
export function refuseOversized(model: string, fileBytes: number, limits: Pick<PoolLimits, 'memory'>): void {
  const found = oversizedFile(model, fileBytes, limits)
  if (found === undefined) return
  const message = `${found.reason} It is not fetched. Raise memory.budget, choose a smaller model, or fetch it all the same: modelyard pull ${model}`
  throw new ModelyardError('model_too_large', message, { details: found.details })
}

/** For a fetch that somebody wished for in so many words: it goes on. */
export function oversizedWarning(
  model: string,
  fileBytes: number,
  limits: Pick<PoolLimits, 'memory'>,
): string | undefined {
  const found = oversizedFile(model, fileBytes, limits)
  return found && `${found.reason} It is fetched all the same; raise memory.budget to load it.`
}
