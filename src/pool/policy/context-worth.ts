import type { Fingerprint } from '../../tasks/fingerprint.ts'
import type { LoadPlan } from '../../engines/engine.ts'
import type { ParkingMode } from '../limits.ts'
import type { Instance, ModelContexts, ModelState, ParkedContext, PoolState } from './state.ts'

/** Milliseconds each save and each restore takes, however small. */
const OVERHEAD = 15
/** Bytes per millisecond of disks nothing is known of. */
const DISK_SPEED = 400_000
/** Milliseconds per token where nothing was measured yet. */
const PREFILL = 1
/** Milliseconds in which a context that nobody asks for loses half its value. */
const HALF_LIFE = 30 * 60_000
/** What a file is more than its tokens: headers, names, the block it ends in. */
const FILE_OVERHEAD = 64 * 1024
/** Part by which a file may be larger than those before it. */
const MARGIN = 1.05

/** What nothing is known of yet. */
export const NO_CONTEXTS: ModelContexts = {
  prefillPerToken: undefined,
  bytesPerToken: undefined,
  strikes: 0,
  unfit: undefined,
  restored: 0,
  dropped: 0,
  savedTokens: 0,
  savedMs: 0,
}

/** Milliseconds a prompt of so many tokens takes. */
export function prefillTime(model: ModelState | undefined, tokens: number): number {
  return tokens * (model?.contexts.prefillPerToken ?? PREFILL)
}

/** Milliseconds spared by tokens that were there already, less those it took to read them; never below 0. */
export function savedTime(cachedTokens: number, pace: number | undefined, readIn: number): number {
  return Math.max(0, cachedTokens * (pace ?? 0) - readIn)
}

/** Milliseconds to write or to read so many bytes. */
export function transferTime(bytes: number): number {
  return OVERHEAD + bytes / DISK_SPEED
}

/** The most that a file of so many tokens takes, so that the budget holds while it is written. */
export function mostBytes(model: ModelState, plan: LoadPlan, tokens: number): number {
  const perToken = Math.max(model.contexts.bytesPerToken ?? 0, plannedPerToken(plan))
  return Math.ceil(perToken * MARGIN * tokens) + FILE_OVERHEAD
}

function plannedPerToken({ footprint, slots, contextSize }: LoadPlan): number {
  let bytes = 0
  for (const terms of Object.values(footprint)) bytes += terms?.context ?? 0
  return bytes / Math.max(1, slots * contextSize)
}

/** How contexts of a model are parked: not at all where the limits, its configuration or its restores say so. */
export function parkingMode({ limits }: PoolState, { model, contexts }: ModelState): ParkingMode {
  const mode = limits.parking?.mode ?? 'off'
  return model.parking === false || contexts.unfit !== undefined ? 'off' : mode
}

/** R16: contexts are parked when to compute them again takes longer than to write and read them. */
export function isWorthParking(
  state: PoolState,
  model: ModelState,
  instance: Instance,
  tokens: number,
): boolean {
  const mode = parkingMode(state, model)
  if (mode === 'off' || tokens < 1 || instance.stateIdentity === undefined) return false
  const bytes = mostBytes(model, instance.plan, tokens)
  return mode === 'always' || prefillTime(model, tokens) > 2 * transferTime(bytes)
}

/** Milliseconds that reading it would spare, of what is shared beyond what the slot holds anyway. */
export function restoreGain(model: ModelState, context: ParkedContext, more: number): number {
  const perToken = model.contexts.prefillPerToken ?? context.worth / Math.max(1, context.tokens)
  return more * perToken - transferTime(context.bytes)
}

/** What losing a parked context costs, aged: tokens × seconds per token, half of it each half-hour nobody asks for it. */
export function agedValue(
  { worth, usedAt, isKept }: Pick<ParkedContext, 'worth' | 'usedAt' | 'isKept'>,
  at: number,
): number {
  // What is wanted for its own sake does not age.
  if (isKept) return worth
  return agedWorth(worth, usedAt, at)
}

/** Half of it each half-hour since it was last of use. */
export function agedWorth(worth: number, usedAt: number, at: number): number {
  return worth * 2 ** (-Math.max(0, at - usedAt) / HALF_LIFE)
}

/** Size in characters of the first `blocks` of a chain. */
export function sizeOf(chain: Fingerprint, blocks: number): number {
  return blocks === 0 ? 0 : (chain[blocks - 1]?.end ?? 0)
}

/** Tokens in the first `blocks` of a chain that holds so many in all, in proportion to their characters. */
export function tokensIn(chain: Fingerprint, tokens: number, blocks: number): number {
  const size = chain.at(-1)?.end ?? 0
  return size === 0 ? 0 : Math.floor((tokens * sizeOf(chain, blocks)) / size)
}
