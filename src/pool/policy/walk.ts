import { instanceWith } from './copies.ts'
import { compareTickets, ranked, risesAt } from './fairness.ts'
import { cancelLoad, beginUnload, leavingReason } from './leave.ts'
import { place } from './place.ts'
import { seekMinimum } from './seek-minimum.ts'
import type { Instance, ModelState, PoolState, Ticket } from './state.ts'
import { command, copiesOf, newTurn, setInstance, ticketsOf, wake, type Step, type Turn } from './step.ts'
import { holdForThreads } from './threads.ts'
import { isComing } from './waiting.ts'

interface Cursor {
  readonly tickets: readonly Ticket[]
  next: number
}

const NOBODY_WAITS: PoolState['waits'] = new Map()

/** R2, F4: after every event, all who wait are looked at again in their order, by the same rule as new ones. */
export function walk(step: Step): void {
  if (isNobodyWaiting(step.state)) return forgetWaits(step)
  const turn = placeUntilSettled(step)
  for (const id of step.state.minimums) restoreMinimum(step, turn, id)
  dropUnwantedLoads(step)
  step.state.waits = turn.waits
}

/** No ticket, no minimum, no load that could be of no use any more. */
export function isNobodyWaiting({ queues, minimums, instances }: PoolState): boolean {
  if (queues.length > 0 || minimums.length > 0) return false
  for (const { state } of instances) if (state !== 'ready' && state !== 'draining') return false
  return true
}

/**
 * R9: a grant is followed by its release, which has everybody looked at again; a ticket that is answered or refused here is not. Whoever
 * came before it and waited only for it would wait for ever.
 */
function placeUntilSettled(step: Step): Turn {
  for (;;) {
    const turn = newTurn()
    startWarmUps(step, turn)
    if (!placeAll(step, turn)) return turn
  }
}

function forgetWaits(step: Step): void {
  if (step.state.waits.size > 0) step.state.waits = NOBODY_WAITS
}

/** R17: warming up uses threads like a run; it comes before runs, for older tickets wait for it. */
function startWarmUps(step: Step, turn: Turn): void {
  for (const instance of step.state.instances) {
    if (instance.state !== 'warming' || instance.coming?.isWarmingUp !== false) continue
    const within = ticketsOf(step.state, instance.model).find((ticket) => ticket.within !== undefined)?.within
    if (step.rules.threadsFree(step, turn, instance, within)) {
      const coming = { ...instance.coming, isWarmingUp: true }
      setInstance(step, instanceWith(instance, { coming }))
      command(step, { type: 'start-warm-up', instance: instance.id })
    } else waitForWarmUp(step, turn, instance)
  }
}

function waitForWarmUp(step: Step, turn: Turn, instance: Instance): void {
  const since = instance.coming?.loadedAt ?? step.at
  const owedAt = since + step.state.limits.swapPatience
  if (step.at < owedAt) wake(step, owedAt)
  else holdForThreads(step, turn, instance.plan.threads, { model: instance.model, since })
}

/** True when a ticket was ended that somebody who still waits may have waited for. */
function placeAll(step: Step, turn: Turn): boolean {
  let hasEnded = false
  const lines: Cursor[] = []
  for (const queue of step.state.queues) putIn(step, lines, { tickets: ranked(step, queue), next: 0 })
  for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
    const ticket = line.tickets[line.next]
    if (ticket === undefined) continue
    const outcome = place(step, turn, ticket)
    if (outcome === 'ended') hasEnded ||= turn.waits.size > 0
    else if (outcome !== 'served') wake(step, risesAt(ticket, step.at) ?? Number.POSITIVE_INFINITY)
    // What stops the first of a model stops all behind it.
    if (outcome === 'blocked') continue
    line.next++
    if (line.next < line.tickets.length) putIn(step, lines, line)
  }
  return hasEnded
}

function compareHeads(step: Step, a: Cursor, b: Cursor): number {
  const [first, second] = [a.tickets[a.next], b.tickets[b.next]]
  return first === undefined || second === undefined ? 0 : compareTickets(step, first, second)
}

/** Into its place in the order of first tickets. */
function putIn(step: Step, lines: Cursor[], line: Cursor): void {
  let index = 0
  while (index < lines.length && compareHeads(step, lines[index] as Cursor, line) < 0) index++
  lines.splice(index, 0, line)
}

/** R13, P9: copies lost by whatever cause come back. */
function restoreMinimum(step: Step, turn: Turn, id: string): void {
  const model = step.state.models.get(id)
  if (model === undefined || model.suspended || step.state.stopping !== undefined) return
  const serving = copiesOf(step.state, model).filter(
    ({ state }) => state === 'loading' || state === 'warming' || state === 'ready',
  )
  if (serving.length >= model.model.minInstances || !step.rules.mayAdd(step.state, model)) return
  // Whoever waits for its first copy has asked for room already.
  if (serving.length === 0 && ticketsOf(step.state, id).length > 0) return
  const notBefore = Math.max(model.retryAt, model.restoreAt)
  if (notBefore > step.at) wake(step, notBefore)
  else seekMinimum(step, turn, model)
}

/** R10: loads nobody waits for any more are cancelled, the youngest first. */
function dropUnwantedLoads(step: Step): void {
  if (!step.state.instances.some(isComing)) return
  for (const load of step.state.instances.toReversed()) {
    if (load.state !== 'loading' && load.state !== 'warming') continue
    if (step.rules.isWanted(step.state, load)) continue
    if (load.state === 'loading') cancelLoad(step, load, 'cancelled', leavingReason('cancelled'))
    else beginUnload(step, load, 'cancelled', leavingReason('cancelled'))
  }
}

/** R10: someone waits for the model, its minimum asks for this copy, or other copies are in use, so that it will soon be needed. */
export function isWanted(state: PoolState, load: Instance): boolean {
  if (ticketsOf(state, load.model).length > 0) return true
  const model = state.models.get(load.model)
  if (model === undefined) return false
  return isPartOfMinimum(state, model, load) || copiesOf(state, model).some(({ leases }) => leases > 0)
}

function isPartOfMinimum(state: PoolState, model: ModelState, load: Instance): boolean {
  if (model.model.minInstances === 0 || model.suspended) return false
  const serving = copiesOf(state, model).filter(
    ({ state: stage }) => stage === 'loading' || stage === 'warming' || stage === 'ready',
  )
  return serving.indexOf(load) < model.model.minInstances
}
