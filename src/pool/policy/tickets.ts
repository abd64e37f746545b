import type { SerializedError } from '../../base/errors.ts'
import type { TicketRequest } from './messages.ts'
import type { Queue, Ticket } from './state.ts'
import { announce, command, type Step } from './step.ts'

/** Puts a new ticket at the end of its model's queue. */
export function enqueue(step: Step, request: TicketRequest): Ticket {
  const { id, model, wants, chain, priority, keepAlive, immediate, force, timeout, within } = request
  const number = step.state.tickets + 1
  const deadline = timeout === undefined ? undefined : step.at + timeout
  const arrivedAt = step.at
  const ticket = {
    id,
    model,
    wants,
    chain,
    priority,
    keepAlive,
    immediate,
    force,
    within,
    arrivedAt,
    number,
    deadline,
  }
  const ticketDeadline = Math.min(step.state.ticketDeadline, deadline ?? Number.POSITIVE_INFINITY)
  step.state.tickets = number
  step.state.ticketDeadline = ticketDeadline
  step.state.queues = appended(step.state.queues, ticket)
  return ticket
}

function appended(queues: readonly Queue[], ticket: Ticket): readonly Queue[] {
  const index = queues.findIndex((queue) => queue.model === ticket.model)
  const tickets = queues[index]?.tickets
  if (tickets === undefined) return [...queues, { model: ticket.model, tickets: [ticket] }]
  return queues.with(index, { model: ticket.model, tickets: [...tickets, ticket] })
}

/** Takes a ticket out of its queue; false when it is not there (any more). */
export function dequeue(step: Step, model: string, id: string): boolean {
  const { queues } = step.state
  const index = queues.findIndex((queue) => queue.model === model)
  const tickets = queues[index]?.tickets
  if (tickets === undefined) return false
  const left = tickets[0]?.id === id ? tickets.slice(1) : tickets.filter((ticket) => ticket.id !== id)
  if (left.length === tickets.length) return false
  const changed =
    left.length === 0
      ? queues.filter((queue) => queue.model !== model)
      : queues.with(index, { model, tickets: left })
  step.state.queues = changed
  return true
}

/** Ends a waiting ticket with an error. */
export function refuse(step: Step, ticket: Ticket, error: SerializedError): void {
  if (dequeue(step, ticket.model, ticket.id)) refuseUnqueued(step, ticket.id, ticket.model, error)
}

/** The same for a ticket that never got as far as the queue. */
export function refuseUnqueued(step: Step, ticket: string, model: string, error: SerializedError): void {
  command(step, { type: 'refuse-ticket', ticket, model, error })
  announce(step, 'ticket-refused', { model, ticket, code: error.code, message: error.message })
}

export function queuedCount(queues: readonly Queue[]): number {
  let count = 0
  for (const queue of queues) count += queue.tickets.length
  return count
}
