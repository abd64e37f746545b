import { isReturning } from './books.ts'
import { evict } from './leave.ts'
import { hostShort } from './refusals.ts'
import { findRoom, inTheWay, movable } from './room.ts'
import { startLoad } from './start-load.ts'
import type { Instance, ModelState, Ticket } from './state.ts'
import { changeModel, noted, wake, type Demand, type Shortage, type Step, type Turn } from './step.ts'
import { refuse } from './tickets.ts'
import { idleWait, isComing, leavingWait, waits } from './waiting.ts'

/** How often the host is looked at again while it lacks memory. */
const LOOK_AGAIN = 500

/** How an attempt to load fared. */
type Attempt = 'started' | 'refused' | 'blocked'

/** R3 (f): evict, then load; but first all the reasons against it. */
export function makeRoom(step: Step, turn: Turn, model: ModelState, demand: Demand, ticket: Ticket): Attempt {
  const room = findRoom(step, turn, demand, true)
  if (room.kind === 'unmeasured') return awaitHost(step, turn, model, demand, ticket)
  if (room.kind === 'host-short') return waitForHost(step, turn, model, demand, ticket, room.shortage)
  if (model.shortSince !== undefined) changeModel(step, demand.model, { shortSince: undefined })
  if (room.kind === 'evict') return makeVictims(step, turn, demand, ticket, room.victims)
  if (room.kind === 'occupied') return waitForIdle(step, turn, demand, ticket)
  if (room.kind === 'leaving') {
    turn.reserved.push(demand)
    return waits(turn, ticket, leavingWait(room.instances))
  }
  startLoad(step, step.state.models.get(demand.model) ?? model, demand, 'a request waits for it')
  return 'started'
}

/** R5: a reading is fresh or it is none. While the host is short it is looked at now and then, not with every event. */
function awaitHost(step: Step, turn: Turn, model: ModelState, demand: Demand, ticket: Ticket): Attempt {
  const again = (step.state.host?.at ?? Number.NEGATIVE_INFINITY) + LOOK_AGAIN
  const mayLook = model.shortSince === undefined || step.at >= again
  // The reading comes at once, but after this walk: whoever is owed must not lose its victims to younger ones in between.
  if (mayLook && step.rules.isOwed(ticket, step.at, step.state.limits)) {
    holdForMemory(step, turn, demand, ticket)
  } else turn.reserved.push(demand)
  if (mayLook) step.wantsHost = true
  else wake(step, again)
  const before = step.state.waits.get(ticket.model)
  return waits(turn, ticket, before?.kind === 'host' ? before : { kind: 'measuring' })
}

function makeVictims(
  step: Step,
  turn: Turn,
  demand: Demand,
  ticket: Ticket,
  victims: readonly Instance[],
): Attempt {
  const frees = victims.reduce((sum, victim) => sum + victim.total, 0)
  for (const victim of victims) evict(step, victim, demand)
  turn.reserved.push(demand)
  return waits(turn, ticket, { kind: 'evicting', victims: victims.map(({ id }) => id), frees })
}

/** R5: a grace for the system to reclaim; it runs only while nothing is on the move that would change the answer. */
function waitForHost(
  step: Step,
  turn: Turn,
  model: ModelState,
  demand: Demand,
  ticket: Ticket,
  shortage: Shortage,
): Attempt {
  const { limits, instances } = step.state
  const isMoving = instances.some((instance) => isComing(instance) || isReturning(instance))
  const since = isMoving ? step.at : (model.shortSince ?? step.at)
  const until = since + limits.memoryGrace
  if (step.at >= until && !isMoving) {
    const retryAfter = Math.max(1000, limits.memoryGrace)
    refuse(step, ticket, hostShort(ticket.model, shortage, step.at - since, retryAfter))
    return 'refused'
  }
  // R9: whoever has waited long enough keeps younger ones from taking what comes free.
  if (step.rules.isOwed(ticket, step.at, limits)) turn.reserved.push(demand)
  if (model.shortSince !== since) changeModel(step, ticket.model, { shortSince: since })
  wake(step, Math.min(Math.max(until, step.at + 1), step.at + LOOK_AGAIN))
  return waits(turn, ticket, { kind: 'host', ...shortage, until })
}

/** R9: those in the way are busy, awaited or too fresh. After `swapPatience` they take no younger tickets. */
function waitForIdle(step: Step, turn: Turn, demand: Demand, ticket: Ticket): Attempt {
  const { limits } = step.state
  if (step.rules.isOwed(ticket, step.at, limits)) holdForMemory(step, turn, demand, ticket)
  else wake(step, ticket.arrivedAt + limits.swapPatience)
  return waits(turn, ticket, idleWait(step, demand))
}

/** First those that were used least recently; when they have not become idle within another `swapPatience`, whoever does first. */
function holdForMemory(step: Step, turn: Turn, demand: Demand, ticket: Ticket): void {
  const { limits } = step.state
  const chosen = inTheWay(step, turn, demand)
  const allAt = ticket.arrivedAt + 2 * limits.swapPatience
  wake(step, allAt)
  for (const instance of step.at >= allAt ? movable(step, demand) : chosen) {
    const mayGoAt = step.rules.turnEndsAt(instance, limits)
    if (step.at < mayGoAt) wake(step, mayGoAt)
    else turn.held = noted(turn.held, instance.id, { model: ticket.model, since: ticket.arrivedAt })
  }
  if (chosen.length > 0) turn.promised = new Set([...turn.promised, ...chosen.map(({ id }) => id)])
  turn.reserved.push(demand)
}
