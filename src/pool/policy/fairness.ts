import type { PoolLimits, Priority } from '../limits.ts'
import type { Instance, PoolState, Queue, Ticket } from './state.ts'
import type { Step } from './step.ts'

const CLASS: Record<Priority, number> = { interactive: 0, normal: 1, background: 2 }

/** A ticket rises one class each time it has waited this long, so that no class starves another (R20). */
export const PROMOTE_AFTER = 30_000

/** The lowest goes first. What a run asks for comes before all else, for that run holds a place while it waits (P14). */
export function classOf(ticket: Ticket, at: number): number {
  if (ticket.within !== undefined) return -1
  const base = CLASS[ticket.priority]
  return base === 0 ? 0 : Math.max(0, base - Math.floor((at - ticket.arrivedAt) / PROMOTE_AFTER))
}

/** When the ticket rises next; undefined in the highest class. */
export function risesAt(ticket: Ticket, at: number): number | undefined {
  if (classOf(ticket, at) <= 0) return undefined
  return ticket.arrivedAt + (Math.floor((at - ticket.arrivedAt) / PROMOTE_AFTER) + 1) * PROMOTE_AFTER
}

/** Negative when `a` comes before `b`: class first, then arrival (R2, F12). */
export function compareTickets(step: Step, a: Ticket, b: Ticket): number {
  const { rules, at } = step
  const { limits } = step.state
  return rules.classOf(a, at, limits) - rules.classOf(b, at, limits) || a.number - b.number
}

/** R9: has waited so long that younger tickets may not pass any more. */
export function isOwed(ticket: Ticket, at: number, limits: PoolLimits): boolean {
  return at - ticket.arrivedAt >= limits.swapPatience
}

/**
 * R9: when an instance whose model is still asked for makes way at the earliest: each has its turn of `swapPatience` in memory, however
 * long the others waited while it was loaded. Otherwise models that take longer to load than that would do nothing but load.
 */
export function turnEndsAt({ readyAt }: Instance, { minimumResidency, swapPatience }: PoolLimits): number {
  return (readyAt ?? Number.POSITIVE_INFINITY) + Math.max(minimumResidency, swapPatience)
}

/** R9: it waited already when the instance became ready, and is served before that can be a victim. */
export function isEntitled(ticket: Ticket, instance: Instance): boolean {
  return instance.readyAt !== undefined && ticket.arrivedAt <= instance.readyAt
}

/** The queue of one model in the order of the walk. */
export function ranked(step: Step, queue: Queue): readonly Ticket[] {
  const first = queue.tickets[0]
  if (first === undefined || queue.tickets.length === 1) return queue.tickets
  const { rules, at } = step
  const { limits } = step.state
  const own = rules.classOf(first, at, limits)
  if (queue.tickets.every((ticket) => rules.classOf(ticket, at, limits) === own)) return queue.tickets
  return queue.tickets.toSorted((a, b) => compareTickets(step, a, b))
}

/** Some ticket of the instance's model comes before the given one, or is entitled to the instance (R7, R9); nobody comes before what a run asks for (P14). */
export function isAwaited(step: Step, instance: Instance, before: Ticket | undefined): boolean {
  if (before === undefined) return queued(step.state, instance.model).length > 0
  const owes = (ticket: Ticket): boolean =>
    before.within === undefined && step.rules.isEntitled(ticket, instance)
  return queued(step.state, instance.model).some(
    (ticket) => owes(ticket) || compareTickets(step, ticket, before) < 0,
  )
}

function queued(state: PoolState, model: string): readonly Ticket[] {
  return state.queues.find((queue) => queue.model === model)?.tickets ?? []
}
