import type { SerializedError } from '../../base/errors.ts'
import { makeRoom } from './make-room.ts'
import { loadFailed } from './refusals.ts'
import { demandFor, findRoom } from './room.ts'
import { startLoad } from './start-load.ts'
import type { Instance, ModelState, PoolState, Ticket } from './state.ts'
import { copiesOf, noted, type Step, type Turn, wake } from './step.ts'
import { refuse } from './tickets.ts'
import { isComing, isServing, leavingWait, loadWait, ownWait, waits, type Outcome } from './waiting.ts'

/** R3 (c), (e), (f): nothing of the model is free. */
export function seekLoad(
  step: Step,
  turn: Turn,
  model: ModelState,
  ticket: Ticket,
  copies: readonly Instance[],
): Outcome {
  if (ticket.immediate) return 'blocked'
  const served = copies.length === 0 ? undefined : seekCopy(step, turn, model, ticket, copies)
  if (served !== undefined) return served
  if (model.retryAt > step.at) return refused(step, ticket, backoffError(step, model))
  const demand = demandFor(model, ticket)
  const never = step.rules.impossible(step, demand)
  if (never !== undefined) return refused(step, ticket, never)
  const attempt = makeRoom(step, turn, model, demand, ticket)
  if (attempt === 'refused') return 'ended'
  return attempt === 'started' && grow(step, turn, model, ticket) ? 'passed' : 'blocked'
}

/** A copy that is there or is coming, or could be beside one; undefined when only a first load will do. */
function seekCopy(
  step: Step,
  turn: Turn,
  model: ModelState,
  ticket: Ticket,
  copies: readonly Instance[],
): Outcome | undefined {
  const own = copies.find(isServing)
  if (!step.rules.mayAdd(step.state, model)) {
    // With no copy ready and none to be added, nobody behind this ticket can fare better.
    if (own === undefined) return waits(turn, ticket, leavingWait(copies))
    if (isComing(own) && copies.length === 1) return waits(turn, ticket, loadWait(own))
  }
  if (grow(step, turn, model, ticket)) return 'passed'
  return own === undefined ? undefined : waits(turn, ticket, ownWait(own))
}

/** R10: copies of a model there may be at once; those on their way out count until they are gone or hopelessly late. */
export function mayAdd(state: PoolState, model: ModelState): boolean {
  const { id, plan, maxInstances } = model.model
  let copies = 0
  for (const instance of state.instances) {
    if (instance.model === id && instance.plan.key === plan.key && instance.leaving?.isStuck !== true)
      copies++
  }
  return copies < Math.max(1, maxInstances)
}

/** R3 (c): true when a load in progress will serve this ticket, or could be started without taking anything from anybody. */
export function grow(step: Step, turn: Turn, model: ModelState, ticket: Ticket): boolean {
  const { id } = model.model
  const covered = turn.covered.get(id) ?? 0
  const copies = copiesOf(step.state, model)
  let slots = 0
  for (const instance of copies) if (isComing(instance)) slots += instance.slots.length
  if (covered >= slots && !mayGrow(step, turn, model, ticket, copies)) return false
  turn.covered = noted(turn.covered, id, covered + 1)
  if (turn.waits.has(id)) return true
  const load = copiesOf(step.state, model).find(isComing)
  waits(turn, ticket, load === undefined ? { kind: 'measuring' } : loadWait(load))
  return true
}

/** A further copy beside one that serves already: only into free memory, never against a backoff. */
function mayGrow(
  step: Step,
  turn: Turn,
  model: ModelState,
  ticket: Ticket,
  copies: readonly Instance[],
): boolean {
  if (ticket.wants === 'instance') return false
  if (!step.rules.mayAdd(step.state, model) || !copies.some(isServing)) return false
  if (model.retryAt > step.at) {
    wake(step, model.retryAt)
    return false
  }
  const demand = demandFor(model, ticket)
  const room = findRoom(step, turn, demand, false)
  if (room.kind === 'unmeasured') step.wantsHost = true
  if (room.kind === 'free') {
    startLoad(step, model, demand, `all slots of "${model.model.id}" are in use or hold other contexts`)
  }
  return room.kind === 'free' || room.kind === 'unmeasured'
}

function refused(step: Step, ticket: Ticket, error: SerializedError): Outcome {
  refuse(step, ticket, error)
  return 'ended'
}

/** R11: during the backoff everybody gets the cause, and is told when to come again. */
function backoffError(step: Step, model: ModelState): SerializedError {
  const { id } = model.model
  const cause = model.lastError ?? {
    code: 'model_load_failed',
    message: `"${id}" could not be loaded.`,
    details: {},
  }
  return loadFailed(cause, id, model.retryAt - step.at)
}
