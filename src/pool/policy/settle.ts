import { noteFailedLoad } from './failure.ts'
import { beginUnload, cutLeases, giveUp, leavingReason } from './leave.ts'
import { loadTimedOut, runCut, shuttingDown, waitedTooLong } from './refusals.ts'
import { loadPatience } from './start-load.ts'
import type { Instance, Ticket } from './state.ts'
import { announce, changeInstance, findInstance, wake, type Step } from './step.ts'
import { refuse } from './tickets.ts'
import { waitSentence } from './wait.ts'

/** What time alone brings about: tickets that waited too long, loads without progress, drains that are over. Looked at with every event. */
export function settle(step: Step): void {
  if (step.at >= step.state.ticketDeadline) timeOutTickets(step)
  for (const { id, state, deadline = Number.POSITIVE_INFINITY } of step.state.instances) {
    if (state !== 'draining' && step.at < deadline) continue
    const instance = findInstance(step.state, id)
    if (instance === undefined) continue
    if (instance.state === 'draining' && instance.leases === 0) leaveNow(step, instance)
    else if (instance.deadline !== undefined && step.at >= instance.deadline) meetDeadline(step, instance)
  }
}

/** The same, for the future: when time alone will bring something about. Asked last, when all deadlines are set. */
export function wakeForDeadlines(step: Step): void {
  wake(step, step.state.ticketDeadline)
  for (const { deadline } of step.state.instances) {
    if (deadline !== undefined) wake(step, Math.max(deadline, step.at + 1))
  }
}

function timeOutTickets(step: Step): void {
  let next = Number.POSITIVE_INFINITY
  for (const queue of step.state.queues) {
    for (const ticket of queue.tickets) {
      if (ticket.deadline === undefined) continue
      if (step.at >= ticket.deadline) timeOut(step, ticket)
      else next = Math.min(next, ticket.deadline)
    }
  }
  step.state.ticketDeadline = next
}

function timeOut(step: Step, ticket: Ticket): void {
  const wait = step.state.waits.get(ticket.model)
  const reason = wait === undefined ? 'others are served first' : waitSentence(wait, step.at)
  refuse(step, ticket, waitedTooLong(ticket, step.at, reason))
}

function leaveNow(step: Step, instance: Instance): void {
  const cause = instance.leaving?.cause ?? 'operator'
  beginUnload(step, instance, cause, leavingReason(cause))
}

function meetDeadline(step: Step, instance: Instance): void {
  switch (instance.state) {
    case 'loading':
    case 'warming':
      return giveLoadUp(step, instance)
    case 'draining':
      return cutAndLeave(step, instance)
    case 'unloading':
      return reportStuck(step, instance)
    case 'ready':
      return
  }
}

/** M10 */
function giveLoadUp(step: Step, instance: Instance): void {
  const limit = loadPatience(step, instance.plan.loadBytes)
  const error = loadTimedOut(instance.model, step.at - instance.startedAt, limit)
  giveUp(step, instance, 'failed', error.message)
  noteFailedLoad(step, instance, error, 'timeout', [])
}

/** R7: only an operator's unload or a stop comes this far. */
function cutAndLeave(step: Step, instance: Instance): void {
  cutLeases(step, instance.id, instance.leaving?.cause === 'stop' ? shuttingDown() : runCut(instance.id))
  const idle = findInstance(step.state, instance.id)
  if (idle !== undefined) leaveNow(step, idle)
}

/** R8: what does not end stays charged, but nobody counts on it any more, and a new copy may be made. */
function reportStuck(step: Step, instance: Instance): void {
  const since = instance.leaving?.since ?? step.at
  const leaving = { cause: instance.leaving?.cause ?? 'operator', since, isStuck: true } as const
  changeInstance(step, instance.id, { leaving, deadline: undefined })
  const took = Math.round((step.at - since) / 1000)
  const message = `${instance.id} was to be unloaded ${took} s ago and is not gone; its memory stays booked until it is.`
  announce(step, 'warning-raised', { code: 'unload_stuck', message })
}
