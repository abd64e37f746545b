import { sharedBlocks } from '../../tasks/fingerprint.ts'
import { contextLimit } from '../policy/context-budget.ts'
import type { PoolState } from '../policy/state.ts'
import { breach } from './violation.ts'
import type { Look } from './world.ts'

/** R16: the disk budget holds by what is really there, nothing foreign is read, and nothing is forgotten. */
export function inspectContexts({ before, decision: { state }, world }: Look): void {
  const { shelf } = world.machine
  const [absurdity] = shelf.absurdities
  if (absurdity !== undefined) breach('R16', absurdity)
  const limit = contextLimit(state)
  const { parked } = state.contexts
  if (shelf.bytes > limit && parked.every(({ writer }) => writer === undefined))
    breach('R16', `${shelf.bytes} bytes are parked, ${limit} may be`)
  for (const { model } of state.models.values()) {
    const bytes = parked.reduce((sum, context) => (context.model === model.id ? sum + context.bytes : sum), 0)
    const isWriting = parked.some(({ writer }) => writer !== undefined)
    if (bytes > (model.contextBudget ?? Infinity) && !isWriting)
      breach('R16', `${model.id} has ${bytes} bytes parked`)
  }
  for (const { id, writer } of parked) {
    if (writer === undefined && !shelf.files.has(id)) breach('R16', `${id} is counted and not there`)
    if (writer !== undefined && !state.instances.some((instance) => instance.id === writer))
      breach('R16', `${id} is written by ${writer}, which is gone`)
  }
  if (parked !== before.contexts.parked || state.instances !== before.instances) inspectBeginnings(state)
}

/** What a later turn made useless goes, at the latest when it has been read. */
function inspectBeginnings({ contexts: { parked }, instances }: PoolState): void {
  const settled = parked.filter(({ isSettled }) => isSettled)
  for (const { id, model, identity, chain, isKept, writer } of parked) {
    const later = settled.find(
      (other) =>
        other.id !== id &&
        other.model === model &&
        other.identity === identity &&
        sharedBlocks(other.chain, chain) === chain.length,
    )
    if (later === undefined || isKept || writer !== undefined) continue
    const isRead = instances.some(({ slots }) => slots.some(({ lease }) => lease?.reading === id))
    if (!isRead) breach('R16', `${id} is of no use beside ${later.id} and stays`)
  }
}
