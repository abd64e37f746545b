import type { Fingerprint } from '../../tasks/fingerprint.ts'
import type { LoadPlan } from '../../engines/engine.ts'
import type { ParkingMode } from '../limits.ts'
import { leftAfter } from './ageing.ts'
import type { Instance, ModelContexts, ModelState, ParkedContext, PoolState } from './state.ts'

/** Milliseconds each save and each restore takes, however small. */
const OVERHEAD = 15
/** Bytes per millisecond of disks nothing is known of; none is taken for slower, or it would never be tried again. */
const DISK_SPEED = 400_000
/** Bytes of the smallest file that tells how fast others are. */
const TELLING_BYTES = 1024 ** 2
/** Weight of the newest measurement. */
const NEWEST = 0.3
/** Milliseconds per token where nothing was measured yet. */
const PREFILL = 1
/** So many times as many tokens are there already when others are only the end of a prompt. */
const BEHIND = 2
/** Milliseconds in which a context that nobody asks for loses half its value. */
const HALF_LIFE = 30 * 60_000
/** What a file is more than its tokens: headers, names, the block it ends in. */
const FILE_OVERHEAD = 64 * 1024
/** Part by which a file may be larger than those before it. */
const MARGIN = 1.05

/** What nothing is known of yet. */
export const NO_CONTEXTS: ModelContexts = {
  prefillPerToken: undefined,
  tailPerToken: undefined,
  bytesPerToken: undefined,
  writeSpeed: undefined,
  readSpeed: undefined,
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

/** Whether so many tokens are only the end of a prompt of which the rest is there. */
export function isTail(tokens: number, kept: number): boolean {
  return kept >= BEHIND * tokens
}

/** Milliseconds that tokens take behind so many that are there. */
export function prefillTimeBehind(model: ModelState, tokens: number, kept: number): number {
  const { tailPerToken, prefillPerToken = PREFILL } = model.contexts
  return tokens * (isTail(tokens, kept) ? (tailPerToken ?? prefillPerToken) : prefillPerToken)
}

/** Milliseconds spared by tokens that were there already, less those it took to read them; never below 0. */
export function savedTime(cachedTokens: number, pace: number | undefined, readIn: number): number {
  return Math.max(0, cachedTokens * (pace ?? 0) - readIn)
}

/** Milliseconds to write or to read so many bytes. */
export function transferTime(bytes: number, speed: number = DISK_SPEED): number {
  return OVERHEAD + bytes / speed
}

/** Milliseconds to read so many bytes into a slot of this model, as was measured. */
export function readTime(model: ModelState | undefined, bytes: number): number {
  return transferTime(bytes, model?.contexts.readSpeed)
}

/** Milliseconds that it costs in all to have so many bytes of a slot again: to write them, and to read them. */
export function parkingTime(model: ModelState | undefined, bytes: number): number {
  return transferTime(bytes, model?.contexts.writeSpeed) + readTime(model, bytes)
}

/** The speed of a disk after one more measurement of it; small files say little of large ones. */
export function learnSpeed(before: number | undefined, bytes: number, took: number): number | undefined {
  if (bytes < TELLING_BYTES || took <= 0) return before
  const seen = bytes / Math.max(1, took - OVERHEAD)
  return Math.max(DISK_SPEED, blend(before, seen))
}

/** A mean of what was measured, the newest counting most. */
export function blend(before: number | undefined, seen: number): number {
  return before === undefined ? seen : before * (1 - NEWEST) + seen * NEWEST
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

/**
 * R16: contexts are parked when to compute them again takes longer than to write and read them, as fast as that was of late. `lost`: tokens that
 * would have to be computed; engines write all that the slot holds.
 */
export function isWorthParking(
  state: PoolState,
  model: ModelState,
  instance: Instance,
  { lost, held }: { lost: number; held: number },
): boolean {
  const mode = parkingMode(state, model)
  if (mode === 'off' || lost < 1 || instance.stateIdentity === undefined) return false
  const bytes = mostBytes(model, instance.plan, held)
  return mode === 'always' || prefillTimeBehind(model, lost, held - lost) > parkingTime(model, bytes)
}

/** Milliseconds that reading it would spare, of `more` tokens that are shared beyond the `kept` that the slot holds anyway. */
export function restoreGain(
  model: ModelState,
  context: ParkedContext,
  { more, kept }: { more: number; kept: number },
): number {
  const isKnown = model.contexts.prefillPerToken !== undefined
  const again = isKnown
    ? prefillTimeBehind(model, more, kept)
    : (more * context.worth) / Math.max(1, context.tokens)
  return again - readTime(model, context.bytes)
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
  return worth === 0 ? 0 : worth * leftAfter(Math.max(0, at - usedAt) / HALF_LIFE)
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
