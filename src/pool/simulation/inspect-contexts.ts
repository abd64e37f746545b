import { contextLimit } from '../policy/context-budget.ts'
import { breach } from './violation.ts'
import type { Look } from './world.ts'

/** R16: the disk budget holds by what is really there, nothing foreign is read, and nothing is forgotten. */
export function inspectContexts({ decision: { state }, world }: Look): void {
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
}
