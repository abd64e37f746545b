import { announceRelease } from './leave.ts'
import { dropOutgrown } from './context-budget.ts'
import { noteSuccess } from './failure.ts'
import { learnFromRun } from './handle-contexts.ts'
import { forgetUnwritten } from './park.ts'
import { instanceDraft, leaseDraft } from './copies.ts'
import type { EventOf, TicketRequest } from './messages.ts'
import { busy, queueFull, shuttingDown, unknownModel, waitedTooLong } from './refusals.ts'
import type { HeldLease, Instance, Slot, Ticket } from './state.ts'
import { announce, changeModel, copiesOf, findInstance, setInstance, ticketsOf, type Step } from './step.ts'
import { dequeue, enqueue, queuedCount, refuse, refuseUnqueued } from './tickets.ts'
import { waitSentence } from './wait.ts'

/** R2: goes to the end of its queue, like everybody; the walk that follows grants at once what can be granted. */
export function ticketArrived(step: Step, event: EventOf<'ticket-arrived'>): void {
  const { ticket } = event
  const model = step.state.models.get(ticket.model)
  if (step.state.stopping !== undefined) return refuseUnqueued(step, ticket.id, ticket.model, shuttingDown())
  if (model === undefined) {
    return refuseUnqueued(step, ticket.id, ticket.model, unknownModel(ticket.model, step.state.models.keys()))
  }
  const isFirst = ticketsOf(step.state, ticket.model).length === 0
  if (model.suspended || (isFirst && model.shortSince !== undefined)) {
    changeModel(step, ticket.model, { suspended: false, shortSince: undefined })
  }
  // Who may not wait gets what is free now; no load must be started for someone who is then refused.
  const mayWait = (ticket.within !== undefined || !isFull(step, ticket.model)) && !hasNoTime(ticket)
  enqueue(step, mayWait ? ticket : { ...ticket, immediate: true, timeout: undefined })
}

function hasNoTime({ timeout }: TicketRequest): boolean {
  return timeout !== undefined && timeout <= 0
}

function isFull(step: Step, model: string): boolean {
  const { queue, queuePerModel } = step.state.limits
  return ticketsOf(step.state, model).length >= queuePerModel || queuedCount(step.state.queues) >= queue
}

/** After the walk: a ticket that could not be served stays, or is refused when it may not wait. */
export function settleArrival(step: Step, event: EventOf<'ticket-arrived'>): void {
  const tickets = ticketsOf(step.state, event.ticket.model)
  const index = tickets.findIndex(({ id }) => id === event.ticket.id)
  const ticket = tickets[index]
  if (ticket === undefined) return
  if (event.ticket.immediate) return refuse(step, ticket, busy(ticket.model))
  const wait = step.state.waits.get(ticket.model)
  if (hasNoTime(event.ticket)) {
    return refuse(step, ticket, waitedTooLong(ticket, step.at, 'no slot is free at this moment'))
  }
  if (ticket.immediate) return refuse(step, ticket, fullError(step, ticket, index))
  const ahead = index === 0 ? '' : `${index} older requests wait for the same model; `
  const reason = ahead + (wait === undefined ? 'others are served first' : waitSentence(wait, step.at))
  announce(step, 'ticket-queued', { model: ticket.model, ticket: ticket.id, position: index, reason })
}

function fullError(step: Step, ticket: Ticket, place: number): ReturnType<typeof queueFull> {
  const { limits, queues } = step.state
  const ofModel = place >= limits.queuePerModel
  const [queued, limit] = ofModel ? [place, limits.queuePerModel] : [queuedCount(queues) - 1, limits.queue]
  return queueFull(ticket.model, queued, limit, place, retryAfter(step, ticket.model, place))
}

/** About as long as those ahead will take: 1 s to 1 min. */
function retryAfter(step: Step, model: string, ahead: number): number {
  const state = step.state.models.get(model)
  const copies = state === undefined ? [] : copiesOf(step.state, state)
  const slots = copies.reduce((sum, instance) => sum + instance.slots.length, 0)
  const held = Math.max(0, ...copies.map((instance) => instance.meanHeld))
  return Math.round(Math.min(60_000, Math.max(1000, (held * ahead) / Math.max(1, slots))))
}

/** P3, F8: nothing stays behind. What was only done for this ticket is undone by the walk that follows. */
export function ticketAborted(step: Step, event: EventOf<'ticket-aborted'>): void {
  dequeue(step, event.model, event.ticket)
}

/** F9: leases are numbered; a late or second release changes nothing. */
export function endsLease(slot: Slot, lease: string): boolean {
  return slot.lease?.id === lease
}

/** F3: taken in any state of the instance, once. */
export function leaseReleased(step: Step, event: EventOf<'lease-released'>): void {
  const instance = findInstance(step.state, event.instance)
  const slot = instance?.slots[event.slot]
  if (instance === undefined || slot === undefined || !step.rules.endsLease(slot, event.lease, step.at))
    return
  const { lease } = slot
  if (lease === undefined) return
  setInstance(step, freed(step, instance, event, lease))
  if (lease.within === undefined) step.state.runs = step.state.runs - 1
  announceRelease(step, instance, event.slot, lease)
  if (event.unprepared === true) forgetUnwritten(step, ({ id }) => lease.parking.includes(id))
  dropOutgrown(step, lease.reading)
  learnFromRun(step, instance, lease, event)
  if (!event.untouched) noteSuccess(step, instance)
}

/** R16: from here on others may copy the beginning they share with it. */
export function promptEvaluated(step: Step, event: EventOf<'prompt-evaluated'>): void {
  const instance = findInstance(step.state, event.instance)
  const slot = instance?.slots[event.slot]
  if (instance === undefined || slot?.lease?.id !== event.lease) return
  const lease = leaseDraft(slot.lease)
  lease.promptTokens = event.promptTokens
  const { chain, tokens, usedAt } = slot
  const changed = instanceDraft(instance)
  changed.slots = instance.slots.with(event.slot, { chain, tokens, usedAt, lease })
  setInstance(step, changed)
  // Who waits to copy it waits for the same model.
  step.isOfNoMatter =
    instance.stateIdentity === undefined || ticketsOf(step.state, instance.model).length === 0
}

const NO_TOKENS = { promptTokens: 0, completionTokens: 0 }

function freed(step: Step, instance: Instance, event: EventOf<'lease-released'>, lease: HeldLease): Instance {
  // F11: without a word about what it holds, the slot counts as holding nothing that can be relied on.
  const chain = event.untouched ? lease.before : (event.chain ?? [])
  const { promptTokens, completionTokens } = event.usage ?? NO_TOKENS
  // The last token of an answer is not evaluated.
  const tokens = event.untouched ? lease.beforeTokens : Math.max(0, promptTokens + completionTokens - 1)
  const held = step.at - lease.grantedAt
  const idler = instanceDraft(instance)
  idler.slots = instance.slots.with(event.slot, { chain, tokens, usedAt: step.at, lease: undefined })
  idler.leases = instance.leases - 1
  idler.usedAt = step.at
  idler.keepAlive = lease.keepAlive ?? instance.keepAlive
  idler.meanHeld = instance.meanHeld === 0 ? held : instance.meanHeld * 0.8 + held * 0.2
  return idler
}
