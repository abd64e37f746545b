import { sharedBlocks } from '../../tasks/fingerprint.ts'
import { agedValue } from './context-worth.ts'
import { contextsWith } from './copies.ts'
import type { ParkedContext, PoolState } from './state.ts'
import { announce, changeModel, command, type Step } from './step.ts'

/** Bytes that parked contexts may take together; less when the disk has no room for as many. */
export function contextLimit({ limits, contexts }: PoolState): number {
  return Math.min(limits.parking?.budget ?? Number.POSITIVE_INFINITY, contexts.room)
}

/** Files and those that are being written, the latter at the most they can become. */
export function bytesParked(contexts: readonly ParkedContext[]): number {
  return contexts.reduce((sum, { bytes }) => sum + bytes, 0)
}

export function findContext(state: PoolState, id: string): ParkedContext | undefined {
  return state.contexts.parked.find((context) => context.id === id)
}

export function setContexts(step: Step, parked: readonly ParkedContext[]): void {
  step.state.contexts = { ...step.state.contexts, parked }
}

/** Somebody was promised to have it read into his slot. */
function isAwaited({ instances }: PoolState, id: string): boolean {
  return instances.some(({ slots }) => slots.some(({ lease }) => lease?.reading === id))
}

/** The file goes, and nobody counts on it from here on. */
export function dropContext(step: Step, { id, model, bytes }: ParkedContext, reason: string): void {
  setContexts(
    step,
    step.state.contexts.parked.filter((context) => context.id !== id),
  )
  command(step, { type: 'remove-context', context: id })
  const dropped = step.state.models.get(model)?.contexts
  if (dropped !== undefined)
    changeModel(step, model, { contexts: contextsWith(dropped, { dropped: dropped.dropped + 1 }) })
  announce(step, 'context-dropped', { model, context: id, bytes, reason })
}

/**
 * Makes room for a new file by dropping those of least value; what is worth more than the new one is never dropped for it, so a short one-off
 * displaces no long conversation. `spared`: what is about to be read. @returns whether there is room now
 */
export function makeContextSpace(step: Step, wanted: Wanted, spared?: string): boolean {
  const quota = quotaOf(step.state, wanted.model)
  const own = step.state.contexts.parked.filter(({ model }) => model === wanted.model)
  const missingOwn = bytesParked(own) + wanted.bytes - quota
  const limit = contextLimit(step.state)
  const missing = bytesParked(step.state.contexts.parked) + wanted.bytes - limit
  if (wanted.bytes > Math.min(limit, quota)) return false
  const victims = chooseVictims(step, wanted, { missing, missingOwn }, spared)
  if (victims === undefined) return false
  for (const victim of victims)
    dropContext(step, victim, 'the disk budget is used up and others are worth more')
  return true
}

/** Bytes that contexts of one model may take. */
function quotaOf({ models }: PoolState, model: string): number {
  return models.get(model)?.model.contextBudget ?? Number.POSITIVE_INFINITY
}

/** The cheapest that make the room, of the model's own first where its quota is the limit; undefined when they are worth more than what is wanted. */
function chooseVictims(
  step: Step,
  wanted: Wanted,
  { missing, missingOwn }: { missing: number; missingOwn: number },
  spared?: string,
): ParkedContext[] | undefined {
  let [all, own, left] = [missing, missingOwn, agedValue(wanted, step.at)]
  const victims: ParkedContext[] = []
  for (const context of cheapestFirst(step)) {
    if (all <= 0 && own <= 0) break
    const isOwn = context.model === wanted.model
    if (!isOwn && all <= Math.max(0, own)) continue
    if (context.id === spared || isAwaited(step.state, context.id)) continue
    left -= agedValue(context, step.at)
    if (left <= 0) return undefined
    all -= context.bytes
    if (isOwn) own -= context.bytes
    victims.push(context)
  }
  return all > 0 || own > 0 ? undefined : victims
}

type Wanted = Pick<ParkedContext, 'isKept' | 'model' | 'bytes' | 'worth' | 'usedAt'>

function cheapestFirst(step: Step): ParkedContext[] {
  return step.state.contexts.parked
    .filter(({ writer }) => writer === undefined)
    .sort((a, b) => agedValue(a, step.at) - agedValue(b, step.at))
}

/** After the limit went down or a file became larger than thought: the cheapest go until it holds. */
export function trimContexts(step: Step): void {
  if (step.state.contexts.parked.length === 0) return
  for (const { model } of step.state.models.values())
    if (model.contextBudget !== undefined) trimModel(step, model.id)
  const limit = contextLimit(step.state)
  if (bytesParked(step.state.contexts.parked) <= limit) return
  for (const context of cheapestFirst(step)) {
    dropContext(step, context, 'more is parked than the disk budget allows')
    if (bytesParked(step.state.contexts.parked) <= limit) return
  }
}

function trimModel(step: Step, model: string): void {
  const quota = quotaOf(step.state, model)
  const own = (): ParkedContext[] => step.state.contexts.parked.filter((context) => context.model === model)
  for (const context of cheapestFirst(step)) {
    if (bytesParked(own()) <= quota) return
    if (context.model === model) dropContext(step, context, 'more is parked than the model may have on disk')
  }
}

/** Those that are of no use beside a newer one. Who is read just now stays until he has been: {@link dropOutgrown}. */
export function dropBeginningsOf(step: Step, newer: ParkedContext): void {
  for (const context of step.state.contexts.parked)
    if (isOutgrown(step.state, context, newer)) dropContext(step, context, OUTGROWN)
}

/** The same asked of the older one, which may have been being written or read when a newer one became safe. */
export function dropOutgrown(step: Step, id: string | undefined): void {
  const context = id === undefined ? undefined : findContext(step.state, id)
  if (context === undefined) return
  const isOfNoUse = step.state.contexts.parked.some((newer) => isOutgrown(step.state, context, newer))
  if (isOfNoUse) dropContext(step, context, OUTGROWN)
}

const OUTGROWN = 'a longer one begins with it'

/** It is wholly the beginning of the newer one, which would survive a kill of the server. */
function isOutgrown(state: PoolState, context: ParkedContext, newer: ParkedContext): boolean {
  if (context.id === newer.id || !newer.isSettled) return false
  if (context.model !== newer.model || context.identity !== newer.identity) return false
  if (context.writer !== undefined || context.isKept || isAwaited(state, context.id)) return false
  return sharedBlocks(context.chain, newer.chain) === context.chain.length
}
