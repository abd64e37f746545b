import { sharedBlocks, type Fingerprint } from '../../tasks/fingerprint.ts'
import { mayBranchFrom } from './branch.ts'
import { mostBytes, parkingMode, parkingTime, prefillTime, sizeOf } from './context-worth.ts'
import { contentOf, coveringContext } from './park.ts'
import type { HeldLease, Instance, ModelState, Slot, Ticket } from './state.ts'
import { wake, type SlotChoice, type Step } from './step.ts'
import type { Wait } from './wait.ts'

/** Characters of a token, for texts that no engine has counted yet. */
const CHARACTERS = 4
/** Times as long as expected that somebody waits for a beginning before he computes it himself. */
const PATIENCE = 3
/** Milliseconds that is at least, and where nothing was measured yet. */
const LEAST = 2000
const UNMEASURED = 60_000

/** A beginning that is being computed, or written to disk, of which a request will be able to copy so much. */
interface Coming {
  /** Characters that are shared. */
  readonly size: number
  /** Characters there are in all. */
  readonly whole: number
  readonly since: number
  readonly lease: HeldLease | undefined
}

/**
 * R16: what this request would compute although another one is at it: then it waits and copies it, so that agents that arrive at once pay for
 * their beginning once. Only while that is quicker, and never for longer than some times what was to be expected: an aborted or failed run
 * ends its lease, and the first of those who wait takes its place.
 */
export function awaitedBeginning(
  step: Step,
  ticket: Ticket,
  { instance, index }: SlotChoice,
): Wait | undefined {
  const model = step.state.models.get(ticket.model)
  if (model === undefined || !mayWait(step, ticket, instance, model)) return undefined
  const coming = mostShared(step, instance, ticket.chain)
  if (coming === undefined) return undefined
  const more = coming.size - sizeAtHand(step, instance, index, ticket.chain)
  if (!isWorthWaiting(step, model, instance, coming, more / CHARACTERS)) return undefined
  const until = coming.since + patienceFor(model, coming.whole / CHARACTERS)
  if (step.at >= until) return undefined
  wake(step, until)
  return { kind: 'beginning', instance: instance.id, since: coming.since }
}

/** Whoever belongs to a run that holds a slot, or may not wait, computes what it needs (P14). */
function mayWait(step: Step, ticket: Ticket, instance: Instance, model: ModelState): boolean {
  if (ticket.immediate || ticket.within !== undefined || ticket.chain.length === 0) return false
  return instance.stateIdentity !== undefined && parkingMode(step.state, model) !== 'off'
}

function mostShared(step: Step, instance: Instance, chain: Fingerprint): Coming | undefined {
  const all = [
    ...instance.slots.flatMap((slot) => computing(instance, slot, chain)),
    ...writing(step, instance, chain),
  ]
  let best: Coming | undefined
  for (const one of all) if (one.size > (best?.size ?? 0)) best = one
  return best
}

function computing(instance: Instance, slot: Slot, chain: Fingerprint): Coming[] {
  const { lease } = slot
  if (lease === undefined || mayBranchFrom(instance, slot)) return []
  const size = sizeOf(chain, sharedBlocks(lease.chain, chain))
  return [{ size, whole: lease.chain.at(-1)?.end ?? 0, since: lease.grantedAt, lease }]
}

function writing({ state }: Step, { model, stateIdentity }: Instance, chain: Fingerprint): Coming[] {
  return state.contexts.parked.flatMap((context) => {
    if (context.writer === undefined || context.model !== model || context.identity !== stateIdentity)
      return []
    const size = sizeOf(chain, sharedBlocks(context.chain, chain))
    return [{ size, whole: context.chain.at(-1)?.end ?? 0, since: context.orderedAt, lease: undefined }]
  })
}

/** Characters that it would not have to compute if it began at once. */
function sizeAtHand(step: Step, instance: Instance, index: number, chain: Fingerprint): number {
  let blocks = sharedBlocks(instance.slots[index]?.chain ?? [], chain)
  for (const slot of instance.slots) {
    const content = contentOf(slot)
    // What is being written is not written a second time: that has to be waited for.
    if (!mayBranchFrom(instance, slot) || coveringContext(step.state, instance, content) !== undefined)
      continue
    blocks = Math.max(blocks, sharedBlocks(content.chain, chain))
  }
  for (const context of step.state.contexts.parked)
    if (step.rules.fitsInstance(context, instance))
      blocks = Math.max(blocks, sharedBlocks(context.chain, chain))
  return sizeOf(chain, blocks)
}

function isWorthWaiting(
  { state, at }: Step,
  model: ModelState,
  instance: Instance,
  { whole, lease }: Coming,
  tokens: number,
): boolean {
  if (tokens <= 0) return false
  const spared = prefillTime(model, tokens)
  const bytes = mostBytes(model, instance.plan, whole / CHARACTERS)
  if (parkingMode(state, model) !== 'always' && spared <= parkingTime(model, bytes)) return false
  if (lease === undefined || instance.savesWhileAnswering) return true
  // Its answer has to end first.
  return instance.meanHeld === 0 || lease.grantedAt + instance.meanHeld - at < spared
}

function patienceFor(model: ModelState, tokens: number): number {
  if (model.contexts.prefillPerToken === undefined) return UNMEASURED
  return Math.max(LEAST, PATIENCE * prefillTime(model, tokens))
}
