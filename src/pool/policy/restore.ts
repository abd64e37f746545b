import { sharedBlocks, type Fingerprint } from '../../tasks/fingerprint.ts'
import { parkingMode, restoreGain, tokensIn } from './context-worth.ts'
import type { Instance, ParkedContext } from './state.ts'
import type { Step } from './step.ts'

/** A parked context whose beginning the request shares. */
export interface RestoreChoice {
  readonly context: ParkedContext
  /** Blocks that are shared, and the tokens in them. */
  readonly blocks: number
  readonly tokens: number
}

/** F1, BR-51: only what this very load can read, of this model, and wholly written. */
export function fitsInstance(context: ParkedContext, instance: Instance): boolean {
  return (
    context.writer === undefined &&
    context.model === instance.model &&
    context.identity === instance.stateIdentity &&
    context.tokens < instance.plan.contextSize
  )
}

/** R16: the parked context that spares most beyond the `kept` tokens that the slot holds anyway, if reading it is worth it. */
export function chooseRestore(
  step: Step,
  instance: Instance,
  chain: Fingerprint,
  kept: number,
): RestoreChoice | undefined {
  const model = step.state.models.get(instance.model)
  if (model === undefined || chain.length === 0) return undefined
  const mode = parkingMode(step.state, model)
  if (mode === 'off') return undefined
  let best: RestoreChoice | undefined
  for (const context of step.state.contexts.parked) {
    if (!step.rules.fitsInstance(context, instance)) continue
    const blocks = sharedBlocks(context.chain, chain)
    const tokens = tokensIn(context.chain, context.tokens, blocks)
    if (tokens > (best?.tokens ?? kept)) best = { context, blocks, tokens }
  }
  if (best === undefined) return undefined
  const gain = restoreGain(model, best.context, { more: best.tokens - kept, kept })
  return mode === 'always' || gain > 0 ? best : undefined
}
