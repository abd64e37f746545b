import { sharedBlocks, type Fingerprint } from '../../tasks/fingerprint.ts'
import { findContext } from './context-budget.ts'
import { mostBytes, parkingTime, prefillTimeBehind, tokensIn } from './context-worth.ts'
import type { ParkOrder } from './messages.ts'
import { contentOf, orderPark, type Content } from './park.ts'
import type { RestoreChoice } from './restore.ts'
import type { Instance, Slot } from './state.ts'
import type { Step } from './step.ts'

/** A beginning that another slot holds, by way of the disk: written from there, read here. */
export interface Branch {
  readonly order: ParkOrder
  readonly restore: RestoreChoice
}

/**
 * R16: two conversations that share a beginning start from one computed beginning, if writing and reading it is quicker than to compute it
 * again. `kept`: tokens that the slot has without it.
 */
export function chooseBranch(
  step: Step,
  instance: Instance,
  target: number,
  chain: Fingerprint,
  kept: number,
): Branch | undefined {
  if (instance.stateIdentity === undefined) return undefined
  const source = sourceOf(instance, target, chain)
  if (source === undefined || !isWorthCopying(step, instance, source, kept)) return undefined
  const order = orderPark(step, instance, source.index, 0)
  const context = order === undefined ? undefined : findContext(step.state, order.context)
  if (order === undefined || context === undefined) return undefined
  return { order, restore: { context, blocks: source.blocks, tokens: source.tokens } }
}

/** A slot whose content can be written now: it is free, or its prompt is evaluated and its engine can write it between two tokens. */
export function mayBranchFrom({ savesWhileAnswering }: Instance, { lease }: Slot): boolean {
  return lease === undefined || (savesWhileAnswering && lease.promptTokens !== undefined)
}

interface Source {
  readonly index: number
  readonly content: Content
  readonly blocks: number
  /** Tokens in the shared blocks. */
  readonly tokens: number
}

/** The slot that shares most. */
function sourceOf(instance: Instance, target: number, chain: Fingerprint): Source | undefined {
  let best: Source | undefined
  for (const [index, slot] of instance.slots.entries()) {
    if (index === target || !mayBranchFrom(instance, slot)) continue
    const content = contentOf(slot)
    const blocks = sharedBlocks(content.chain, chain)
    const tokens = tokensIn(content.chain, content.tokens, blocks)
    if (tokens > (best?.tokens ?? 0)) best = { index, content, blocks, tokens }
  }
  return best
}

function isWorthCopying(step: Step, instance: Instance, { content, tokens }: Source, kept: number): boolean {
  const model = step.state.models.get(instance.model)
  if (model === undefined || tokens <= kept) return false
  if (step.state.limits.parking?.mode === 'always') return true
  const bytes = mostBytes(model, instance.plan, content.tokens)
  return prefillTimeBehind(model, tokens - kept, kept) > parkingTime(model, bytes)
}
