import type { CommandOf } from '../policy/messages.ts'
import type { Instance, PoolState } from '../policy/state.ts'
import { isBefore } from './inspect-grants.ts'
import { couldLoad } from './true-books.ts'
import { breach } from './violation.ts'
import type { Look } from './world.ts'

/** R7, R13, F13, F19: who goes by our own decision. */
export function inspectDeparture(look: Look, { instance: id }: CommandOf<'start-unload'>): void {
  const { decision, before } = look
  const gone = decision.state.instances.find((instance) => instance.id === id)
  const was = before.instances.find((instance) => instance.id === id)
  const cause = gone?.leaving?.cause
  if (gone === undefined || was === undefined || (cause !== 'evicted' && cause !== 'idle')) return
  if (look.world.copies.get(id)?.slots.some((slot) => slot.visitor !== undefined) === true && was.leases > 0)
    breach('R7', `${id} is busy and goes as ${cause}`)
  const model = decision.state.models.get(gone.model)
  if (model?.model.pinned === true) breach('F19', `${id} is pinned and goes as ${cause}`)
  const left = ready(decision.state, gone)
  if (left < (model?.model.minInstances ?? 0)) breach('F13', `${left} copies of ${gone.model} are left`)
  if (cause === 'idle') return reallyIdle(look, gone)
  notAwaited(look, gone)
  if (!before.overBudget && !decision.state.overBudget) wasWorthIt(look)
}

function ready(state: PoolState, like: Instance): number {
  return state.instances.filter(
    (instance) =>
      instance.model === like.model && instance.plan.key === like.plan.key && instance.state === 'ready',
  ).length
}

/** R7, R9: someone comes before all who wait for the victim, and nobody is owed its service. */
function notAwaited({ decision: { state }, event, before }: Look, victim: Instance): void {
  const waiting = state.queues.find((queue) => queue.model === victim.model)?.tickets ?? []
  const readyAt = victim.readyAt ?? 0
  const { loadTime = Infinity } = before.models.get(victim.model) ?? {}
  const stay = Math.min(state.limits.minimumResidency, loadTime)
  if (event.at < readyAt + stay) breach('R7', `${victim.id} was loaded a moment ago`)
  if (waiting.length === 0) return
  const isForPart = state.queues.some(({ tickets }) => tickets.some(({ within }) => within !== undefined))
  if (!isForPart && waiting.some((ticket) => ticket.arrivedAt <= readyAt))
    breach('R9', `${victim.id} still owes a service`)
  const others = [...state.queues, ...before.queues]
    .filter((queue) => queue.model !== victim.model)
    .flatMap((queue) => queue.tickets)
  const passed = waiting.find((ticket) => !others.some((other) => isBefore(other, ticket, event.at)))
  if (passed !== undefined) breach('R7', `${victim.id} is awaited by ${passed.id}`)
}

/** M7: nobody goes before it is known that somebody's load can succeed, in the budget and on the host. */
function wasWorthIt({ decision: { state }, event, world }: Look): void {
  if (event.type !== 'host-measured') return breach('F19', 'somebody is evicted without a look at the host')
  // R20: the machine itself needs it.
  if ((event.reading.ram?.available ?? Infinity) < state.limits.headroom) return
  const asking = [...state.queues.map(({ model }) => model), ...state.minimums]
  if (!asking.some((id) => couldLoad(world, state, id)))
    breach('F19', 'somebody is evicted for a load that cannot succeed')
}

/** R13, BR-21: counted from the end of the last lease. */
function reallyIdle({ world, event }: Look, gone: Instance): void {
  const copy = world.copies.get(gone.id)
  if (copy === undefined) return
  const idle = event.at - Math.max(copy.lastUsedAt, copy.readyAt ?? 0)
  if (idle < gone.keepAlive) breach('F13', `${gone.id} goes after ${idle} of ${gone.keepAlive} ms`)
}
