import { crowd, movable, tightest } from './room.ts'
import type { Instance, Ticket } from './state.ts'
import { noted, type Demand, type Step, type Turn } from './step.ts'
import type { Wait } from './wait.ts'

/**
 * How a ticket fared: it is `served` with a lease; it is `ended`, answered or refused, and nothing more will come of it; it is `passed` over, and the next ticket of its model may try, because a load in progress will serve it or an instance makes way; or
 * it is `blocked`, and all later ones of its model with it.
 */
export type Outcome = 'served' | 'ended' | 'passed' | 'blocked'

/** Notes what the first ticket of a model waits for (R19). */
export function waits(turn: Turn, ticket: Ticket, wait: Wait): 'blocked' {
  if (!turn.waits.has(ticket.model)) turn.waits = noted(turn.waits, ticket.model, wait)
  return 'blocked'
}

export function isServing(instance: Instance): boolean {
  return instance.state === 'loading' || instance.state === 'warming' || instance.state === 'ready'
}

export function isComing(instance: Instance): boolean {
  return instance.state === 'loading' || instance.state === 'warming'
}

export function ownWait(own: Instance): Wait {
  return own.state === 'ready' ? { kind: 'slot', instance: own.id, slots: own.slots.length } : loadWait(own)
}

export function loadWait(load: Instance): Wait {
  return { kind: 'load', instance: load.id, progress: load.coming?.progress, since: load.startedAt }
}

/** R8: the instances whose bytes, or whose place, must be seen back first. */
export function leavingWait(instances: readonly Instance[]): Wait {
  const bytes = instances.reduce((sum, instance) => sum + instance.total, 0)
  return { kind: 'leaving', instances: instances.map(({ id }) => id), bytes }
}

export function idleWait(step: Step, demand: Demand): Wait {
  const full = crowd(step, demand)
  if (full !== undefined) {
    const { large, holders } = full
    return { kind: 'places', large, limit: step.state.limits.maxLargeModels, holders }
  }
  const { domain, needs, free } = tightest(step, demand)
  return { kind: 'idle', domain, needs, free, holders: movable(step, demand).map(({ id }) => id) }
}
