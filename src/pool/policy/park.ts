import { sharedBlocks, type Fingerprint } from '../../tasks/fingerprint.ts'
import { setContexts } from './context-budget.ts'
import { mostBytes, prefillTime } from './context-worth.ts'
import type { ParkOrder } from './messages.ts'
import type { Instance, LeavingCause, ModelState, ParkedContext, PoolState, Slot } from './state.ts'
import type { Step } from './step.ts'

/** Whoever leaves for one of these causes has nothing that can be saved, or nothing that is wanted. */
const LOST: ReadonlySet<LeavingCause> = new Set(['cancelled', 'exited', 'failed', 'withdrawn'])

/** What can be written of a slot. */
export interface Content {
  readonly chain: Fingerprint
  readonly tokens: number
  readonly usedAt: number
  /** The lease under which it is answering. */
  readonly lease?: string
}

/** Under a lease it is the prompt, as far as it is evaluated. */
export function contentOf({ lease, chain, tokens, usedAt }: Slot): Content {
  if (lease === undefined) return { chain, tokens, usedAt }
  return { chain: lease.chain, tokens: lease.promptTokens ?? 0, usedAt: lease.grantedAt, lease: lease.id }
}

/**
 * R16: the context of a slot that is about to lose all but `kept` of its tokens, if it is worth its file and there is room for it. From here on
 * it is being written; `park-finished` or `park-failed` follows.
 */
export function orderPark(
  step: Step,
  instance: Instance,
  index: number,
  kept: number,
  spared?: string,
  isKept = false,
): ParkOrder | undefined {
  const slot = instance.slots[index]
  const model = step.state.models.get(instance.model)
  if (slot === undefined || model === undefined) return undefined
  const content = contentOf(slot)
  if (content.chain.length === 0) return undefined
  const tokens = { lost: content.tokens - kept, held: content.tokens }
  if (!isKept && !step.rules.isWorthParking(step.state, model, instance, tokens)) return undefined
  if (coveringContext(step.state, instance, content) !== undefined) return undefined
  const context = { ...newContext(step, model, instance, content), isKept }
  if (!step.rules.makeContextSpace(step, context, spared)) return undefined
  const { parked, ...rest } = step.state.contexts
  step.state.contexts = { ...rest, parked: [...parked, context], number: rest.number + 1 }
  const { id, identity, chain, worth } = context
  const lease = content.lease === undefined ? {} : { lease: content.lease }
  const wanted = isKept ? { isKept: true as const } : {}
  return {
    context: id,
    model: model.model.id,
    slot: index,
    identity,
    chain,
    tokens: tokens.held,
    worth,
    ...lease,
    ...wanted,
  }
}

function newContext(step: Step, model: ModelState, instance: Instance, content: Content): ParkedContext {
  const { chain, tokens, usedAt } = content
  return {
    id: `context-${step.state.contexts.number + 1}`,
    model: model.model.id,
    identity: instance.stateIdentity ?? '',
    chain,
    tokens,
    bytes: mostBytes(model, instance.plan, tokens),
    worth: prefillTime(model, tokens),
    usedAt,
    orderedAt: step.at,
    isKept: false,
    writer: instance.id,
    isSettled: false,
  }
}

/** What is parked already, or is being parked, and holds all that the slot holds. */
export function coveringContext(
  state: PoolState,
  { model, stateIdentity }: Instance,
  { chain }: Pick<Content, 'chain'>,
): ParkedContext | undefined {
  return state.contexts.parked.find(
    (context) =>
      context.model === model &&
      context.identity === stateIdentity &&
      sharedBlocks(context.chain, chain) === chain.length,
  )
}

/** All that an instance holds and that is worth it, when it goes; the most valuable first, for there may not be time for all. */
export function parkAll(step: Step, instance: Instance, cause: LeavingCause): ParkOrder[] {
  if (LOST.has(cause) || instance.stateIdentity === undefined) return []
  const order = instance.slots
    .map(({ tokens, lease }, index) => ({ tokens, index, isFree: lease === undefined }))
    .filter(({ isFree }) => isFree)
    .sort((a, b) => b.tokens - a.tokens)
  return order.flatMap(({ index }) => orderPark(step, instance, index, 0) ?? [])
}

/** Whoever was to write it did not. */
export function forgetUnwritten(step: Step, isMeant: (context: ParkedContext) => boolean): void {
  const { parked } = step.state.contexts
  const left = parked.filter((context) => context.writer === undefined || !isMeant(context))
  if (left.length < parked.length) setContexts(step, left)
}
