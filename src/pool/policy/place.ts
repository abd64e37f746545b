import { hasFreeSlot } from './affinity.ts'
import { instanceWith } from './copies.ts'
import { askedOnceMore } from './cost.ts'
import { grant } from './grant.ts'
import { grow, seekLoad } from './seek-load.ts'
import type { Instance, ModelState, Ticket } from './state.ts'
import { command, copiesOf, setInstance, wake, type SlotChoice, type Step, type Turn } from './step.ts'
import { activeThreads, holdForThreads, threadUsers } from './threads.ts'
import { notTogether } from './refusals.ts'
import { demandFor } from './room.ts'
import { dequeue, refuse } from './tickets.ts'
import { partsOf, runningWithParts } from './together.ts'
import { waits, type Outcome } from './waiting.ts'
import type { Wait } from './wait.ts'

/** R2, R3: the one way to a slot, for new and waiting tickets alike. First that applies: (a)…(f). */
export function place(step: Step, turn: Turn, ticket: Ticket): Outcome {
  const model = step.state.models.get(ticket.model)
  if (model === undefined) return 'blocked'
  const copies = copiesOf(step.state, model)
  const accepting = copies.length === 0 ? copies : copies.filter((one) => step.rules.accepts(one, model))
  if (ticket.wants === 'instance') return placeLoad(step, turn, model, ticket, accepting, copies)
  const open = accepting.length === 0 ? accepting : accepting.filter(hasFreeSlot)
  if (open.length > 0) return placeRun(step, turn, model, ticket, open)
  // A copy that may not run yet would only take what those that run ask for: they could wait for each other for ever (P14).
  if (ticket.within === undefined && !step.rules.fitsTogether(step, model))
    return waitForOthersWithParts(step, turn, model, ticket)
  return seekLoad(step, turn, model, ticket, copies)
}

/** An operator's load: any ready copy will do. */
function placeLoad(
  step: Step,
  turn: Turn,
  model: ModelState,
  ticket: Ticket,
  ready: readonly Instance[],
  copies: readonly Instance[],
): Outcome {
  const [instance] = ready
  if (instance === undefined) return seekLoad(step, turn, model, ticket, copies)
  dequeue(step, ticket.model, ticket.id)
  // Asking for a model is using it: the time until it goes starts anew, as long as the operator wants it to be.
  const asked = askedOnceMore(step, instance.asked)
  const keepAlive = ticket.keepAlive ?? instance.keepAlive
  setInstance(step, instanceWith(instance, { usedAt: step.at, asked, keepAlive }))
  command(step, { type: 'answer-load', ticket: ticket.id, model: ticket.model, instance: instance.id })
  return 'ended'
}

function placeRun(
  step: Step,
  turn: Turn,
  model: ModelState,
  ticket: Ticket,
  open: readonly Instance[],
): Outcome {
  const free = turn.held.size === 0 ? open : open.filter((one) => !isHeld(step, turn, one, ticket))
  if (free.length === 0) return passOver(turn, ticket, open)
  const able = free.filter((instance) => step.rules.threadsFree(step, turn, instance, ticket.within))
  if (able.length === 0) return waitForThreads(step, turn, ticket, free)
  if (ticket.within === undefined) {
    if (!step.rules.mayRun(step.state)) return waits(turn, ticket, concurrencyWait(step))
    if (!step.rules.fitsTogether(step, model)) return waitForOthersWithParts(step, turn, model, ticket)
  }
  const choice = step.rules.chooseSlot(able, ticket.chain, step.at)
  if (choice === undefined) return 'blocked'
  const beginning = step.rules.awaitedBeginning(step, ticket, choice)
  if (beginning !== undefined) return waitForBeginning(turn, ticket, beginning)
  // R3 (c) before (d): rather a new copy than somebody's context, when it costs nobody anything.
  if (choice.fit === 'divergent' && !ticket.immediate && grow(step, turn, model, ticket)) return 'passed'
  return granted(step, ticket, choice)
}

function granted(step: Step, ticket: Ticket, choice: SlotChoice): Outcome {
  grant(step, ticket, choice)
  return 'served'
}

/** R9: the instance makes way for an older ticket, and this one is not among those it owes a slot. */
function isHeld(step: Step, turn: Turn, instance: Instance, ticket: Ticket): boolean {
  if (ticket.within !== undefined) return false
  return turn.held.has(instance.id) && !step.rules.isEntitled(ticket, instance)
}

/** R16: those behind it share nothing with what is computed, or wait for the same. */
function waitForBeginning(turn: Turn, ticket: Ticket, wait: Wait): Outcome {
  waits(turn, ticket, wait)
  return 'passed'
}

/** Those behind it may be among whom the instance still owes a slot, so they are looked at all the same. */
function passOver(turn: Turn, ticket: Ticket, open: readonly Instance[]): Outcome {
  if (!turn.waits.has(ticket.model)) waits(turn, ticket, heldWait(turn, open))
  return 'passed'
}

function heldWait(turn: Turn, open: readonly Instance[]): Wait {
  const [instance] = open
  const hold = instance === undefined ? undefined : turn.held.get(instance.id)
  return { kind: 'turn', instance: instance?.id ?? '', of: hold?.model ?? '', since: hold?.since ?? 0 }
}

/** P14: a run that may ask for more than there is beside other such runs waits for those, or will never do. */
function waitForOthersWithParts(step: Step, turn: Turn, model: ModelState, ticket: Ticket): Outcome {
  const others = runningWithParts(step.state)
  const uses = partsOf(step.state, [ticket.model])
  if (others.length > 0) return waits(turn, ticket, { kind: 'together', uses, holders: others })
  const error = step.rules.impossible(step, demandFor(model, ticket)) ?? notTogether(ticket.model, uses)
  refuse(step, ticket, error)
  return 'ended'
}

function concurrencyWait(step: Step): Wait {
  return { kind: 'concurrency', runs: step.state.runs, limit: step.state.limits.concurrency }
}

/** R17: waits its turn; after `swapPatience` the next threads are kept for it. */
function waitForThreads(step: Step, turn: Turn, ticket: Ticket, free: readonly Instance[]): Outcome {
  const { limits } = step.state
  const needed = Math.min(...free.map((instance) => instance.plan.threads))
  const users = threadUsers(step.state)
    .filter((user) => user.model !== ticket.model)
    .map((user) => user.id)
  const wait = {
    kind: 'threads',
    needed,
    active: activeThreads(step.state),
    limit: limits.threads,
    users,
  } as const
  if (step.rules.isOwed(ticket, step.at, limits)) {
    holdForThreads(step, turn, needed, { model: ticket.model, since: ticket.arrivedAt })
  } else wake(step, ticket.arrivedAt + limits.swapPatience)
  return waits(turn, ticket, wait)
}
