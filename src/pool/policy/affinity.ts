import { sharedBlocks, type Fingerprint } from '../../tasks/fingerprint.ts'
import type { Instance, ModelState, Slot } from './state.ts'
import { agedWorth } from './context-worth.ts'
import type { SlotChoice } from './step.ts'

/** Characters of a shared beginning that are worth more than the order of use. */
const WORTH_KEEPING = 2048

/** F15, F16: only what is ready and stays takes new tickets; asked in the same step as the grant. */
export function accepts(instance: Instance, model: ModelState): boolean {
  return instance.state === 'ready' && instance.plan.key === model.model.plan.key
}

export function hasFreeSlot(instance: Instance): boolean {
  return instance.leases < instance.slots.length
}

interface Candidate extends SlotChoice {
  readonly slot: Slot
  readonly shared: number
  /** Characters of the shared beginning. */
  readonly size: number
  /** What would be lost with the slot's context, once it was asked for. */
  value: number | undefined
}

/** The conversation goes on in this slot, or is taken up again within it: one chain is wholly the beginning of the other. */
function continues(slot: Slot, chain: Fingerprint, shared: number): boolean {
  return shared > 0 && (shared === slot.chain.length || shared === chain.length)
}

function candidate(instance: Instance, index: number, slot: Slot, chain: Fingerprint): Candidate {
  const shared = sharedBlocks(slot.chain, chain)
  const fit = slot.chain.length === 0 ? 'empty' : continues(slot, chain, shared) ? 'continues' : 'divergent'
  const size = shared === 0 ? 0 : (chain[shared - 1]?.end ?? 0)
  return { instance, index, fit, slot, shared, size, value: undefined }
}

/** Tokens of the slot's context, aged. Among slots of one model a token takes as long as any other. */
function valueOf(one: Candidate, at: number): number {
  one.value ??= agedWorth(one.slot.tokens, one.slot.usedAt, at)
  return one.value
}

const RANK = { continues: 0, empty: 1, divergent: 2 } as const

/** True when `a` is the better place. R3 (a): the longest share; (b): where others run already, so that no threads are woken; (d): a share worth it, else the least to lose, so that a one-off does not take a long conversation's slot; else least recently used. */
function isBetter(a: Candidate, b: Candidate, worthIt: boolean, at: number): boolean {
  if (a.fit !== b.fit) return RANK[a.fit] < RANK[b.fit]
  if (a.fit === 'continues')
    return a.shared > b.shared || (a.shared === b.shared && a.slot.usedAt > b.slot.usedAt)
  if (a.fit === 'empty') return a.instance.leases > 0 && b.instance.leases === 0
  if (worthIt && a.size !== b.size) return a.size > b.size
  const [lostWithA, lostWithB] = [valueOf(a, at), valueOf(b, at)]
  if (isFarFrom(lostWithA, lostWithB)) return lostWithA < lostWithB
  return a.slot.usedAt < b.slot.usedAt
}

/** Twice as much, at least: of two that are worth about the same the older goes. */
function isFarFrom(a: number, b: number): boolean {
  return Math.max(a, b) > 2 * Math.min(a, b)
}

/** One empty slot of an instance is as good as another. */
function isLikeBest(best: Candidate | undefined, instance: Instance, { chain }: Slot): boolean {
  return chain.length === 0 && best?.fit === 'empty' && best.instance === instance
}

/** R3 (a), (b), (d): the best free slot. A conversation keeps its own; two that share only a beginning get different ones while there are empty ones. */
export function chooseSlot(
  open: readonly Instance[],
  chain: Fingerprint,
  at: number,
): SlotChoice | undefined {
  let best: Candidate | undefined
  const length = chain.at(-1)?.end ?? 0
  for (const instance of open) {
    for (let index = 0; index < instance.slots.length; index++) {
      const slot = instance.slots[index] as Slot
      if (slot.lease !== undefined || isLikeBest(best, instance, slot)) continue
      const next = candidate(instance, index, slot, chain)
      const size = Math.max(next.size, best?.size ?? 0)
      const worthIt = size >= Math.min(WORTH_KEEPING, length / 2)
      if (best === undefined || isBetter(next, best, worthIt, at)) best = next
    }
  }
  return best
}

/** F1: exactly what slot and request share; 0 = the slot is cleared first. */
export function keptPrefix(slot: Slot, chain: Fingerprint): number {
  return sharedBlocks(slot.chain, chain)
}
