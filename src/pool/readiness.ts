import { ModelyardError } from '../base/errors.ts'
import { shuttingDown, unknownModel } from './policy/refusals.ts'
import type { PoolState } from './policy/state.ts'
import { isServing } from './policy/waiting.ts'

/** Whether a model has the ready copies it should have; an error when that will not come by itself. */
export function readiness(state: PoolState, id: string): boolean | ModelyardError {
  const model = state.models.get(id)
  if (state.stopping !== undefined) return ModelyardError.fromJSON(shuttingDown())
  if (model === undefined) return ModelyardError.fromJSON(unknownModel(id, state.models.keys()))
  const ready = state.instances.filter((instance) => instance.model === id && instance.state === 'ready')
  if (ready.length >= Math.max(1, model.model.minInstances)) return true
  if (model.lastError === undefined || isOnItsWay(state, id)) return false
  return ModelyardError.fromJSON(model.lastError)
}

function isOnItsWay(state: PoolState, id: string): boolean {
  return (
    state.queues.some(({ model }) => model === id) ||
    state.instances.some((instance) => instance.model === id && isServing(instance))
  )
}
