import { contextLimit, bytesParked } from './policy/context-budget.ts'
import { sharedBlocks, type Fingerprint } from '../tasks/fingerprint.ts'
import type { ParkedContext, PoolState } from './policy/state.ts'

/** A parked context as operators see it. Numbers and names, never a word of a user's text (F10). */
export interface ContextListing {
  id: string
  model: string
  state: 'writing' | 'parked'
  tokens: number
  /** On disk; while it is written, the most it can become. */
  bytes: number
  /** Seconds its tokens would take to compute again. */
  seconds: number
  /** Milliseconds since it was last of use. */
  idleFor: number
  /** A beginning that was evaluated ahead: it stays beside longer ones. */
  kept: boolean
}

/** All parked contexts together. */
export interface ContextsSummary {
  count: number
  bytes: number
  /** Bytes they may take; null = nothing limits them. */
  limit: number | null
  /** Of all models since the start: what did not have to be computed again, as engines confirmed it. */
  savedTokens: number
  savedSeconds: number
}

/** What parking did for one model since the start. */
export interface ModelContextStatus {
  /** Restores that the engine confirmed. */
  restored: number
  savedTokens: number
  savedSeconds: number
  /** Why it is no longer parked; absent = it is. */
  unfit?: string
}

/** The one that was evaluated ahead and holds all of this beginning. */
export function findKept(
  { contexts }: PoolState,
  model: string,
  chain: Fingerprint,
): ParkedContext | undefined {
  if (chain.length === 0) return undefined
  return contexts.parked.find(
    (context) =>
      context.isKept && context.model === model && sharedBlocks(context.chain, chain) === chain.length,
  )
}

/** The most useful first. */
export function listContexts({ contexts }: PoolState, at: number): ContextListing[] {
  return contexts.parked.map((context) => listing(context, at)).sort((a, b) => a.idleFor - b.idleFor)
}

function listing(
  { id, model, tokens, bytes, worth, usedAt, writer, isKept }: ParkedContext,
  at: number,
): ContextListing {
  const state = writer === undefined ? 'parked' : 'writing'
  return {
    id,
    model,
    state,
    tokens,
    bytes,
    seconds: worth / 1000,
    idleFor: Math.max(0, at - usedAt),
    kept: isKept,
  }
}

export function summarizeContexts(state: PoolState): ContextsSummary {
  const limit = contextLimit(state)
  let [savedTokens, savedMs] = [0, 0]
  for (const { contexts } of state.models.values()) {
    savedTokens += contexts.savedTokens
    savedMs += contexts.savedMs
  }
  return {
    count: state.contexts.parked.length,
    bytes: bytesParked(state.contexts.parked),
    limit: Number.isFinite(limit) ? limit : null,
    savedTokens,
    savedSeconds: savedMs / 1000,
  }
}

export function modelContexts(state: PoolState, model: string): ModelContextStatus {
  const contexts = state.models.get(model)?.contexts
  const { restored = 0, savedTokens = 0, savedMs = 0, unfit } = contexts ?? {}
  return { restored, savedTokens, savedSeconds: savedMs / 1000, ...(unfit !== undefined && { unfit }) }
}
