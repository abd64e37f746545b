import type { PoolCommand } from '../policy/messages.ts'
import type { PoolState } from '../policy/state.ts'
import { inspectDeparture } from './inspect-departures.ts'
import { inspectContexts } from './inspect-contexts.ts'
import { inspectGrant, inspectThreads } from './inspect-grants.ts'
import { inspectDemand, inspectLoad } from './inspect-loads.ts'
import { breach } from './violation.ts'
import type { Look } from './world.ts'

/**
 * Holds every decision against the rules, by its own count of what is really there and not by the policy's. Throws a `Violation` at
 * the first breach.
 */
export class Inspector {
  readonly #lastFailure = new Map<string, number>()
  #isStopped = false

  /** To be called after each decision. */
  readonly observe = (look: Look): void => {
    if (look.event.type === 'stop-requested') this.#isStopped = true
    inspectCounts(look)
    inspectContexts(look)
    for (const command of look.decision.commands) this.#inspect(look, command)
    inspectDemand(look.decision.state)
    this.#remember(look)
  }

  #inspect(look: Look, command: PoolCommand): void {
    if (command.type === 'start-load') {
      if (this.#isStopped) breach('P12', `${command.instance} is loaded after the stop`)
      inspectLoad(look, command, this.#lastFailure.get(command.plan.key) ?? Number.NEGATIVE_INFINITY)
    }
    if (command.type === 'grant-lease') {
      if (this.#isStopped) breach('P12', `${command.lease} is granted after the stop`)
      inspectGrant(look, command)
    }
    if (command.type === 'start-warm-up') inspectThreads(look, command.instance)
    if (command.type === 'start-unload') inspectDeparture(look, command)
    if (command.type === 'set-alarm' && command.at <= look.event.at)
      breach('R1', 'the alarm rings in the past')
  }

  #remember({ event, before }: Look): void {
    // What is declared after that is another model, though it may have the same name.
    if (event.type === 'model-withdrawn') this.#lastFailure.clear()
    if (event.type !== 'load-failed' && event.type !== 'warm-up-failed') return
    const failed = before.instances.find((instance) => instance.id === event.instance)
    if (failed !== undefined && failed.state !== 'unloading') this.#lastFailure.set(failed.plan.key, event.at)
  }
}

/** F2, F9, P4: leases balance, and what the world saw is possible. */
function inspectCounts({ decision: { state }, event, world }: Look): void {
  const [absurdity] = world.lobby.absurdities
  if (absurdity !== undefined) breach('F15', absurdity)
  let runs = 0
  for (const instance of state.instances) {
    const leased = instance.slots.filter((slot) => slot.lease !== undefined).length
    const parts = instance.slots.filter((slot) => slot.lease?.within !== undefined).length
    if (leased !== instance.leases)
      breach('F9', `${instance.id} counts ${instance.leases} leases and has ${leased}`)
    runs += leased - parts
  }
  if (runs !== state.runs) breach('F2', `${state.runs} runs are counted, ${runs} slots are leased`)
  boundedQueues(state, event.type === 'ticket-arrived')
  inspectAlarm(state)
}

/** Whatever time alone must bring about, there is an alarm for it. */
function inspectAlarm({ alarm, instances, queues }: PoolState): void {
  const tickets = queues.flatMap((queue) => queue.tickets)
  for (const { id, deadline } of [...instances, ...tickets]) {
    if (deadline !== undefined && deadline < alarm) breach('R1', `no alarm rings for the deadline of ${id}`)
  }
}

/** R2 */
function boundedQueues(state: PoolState, isArrival: boolean): void {
  if (!isArrival) return
  const lengths = state.queues.map(({ tickets }) => tickets.length)
  const total = lengths.reduce((sum, length) => sum + length, 0)
  if (lengths.includes(0)) breach('R2', 'an empty queue is kept')
  if (total > state.limits.queue && total > 50) breach('R2', `${total} tickets wait`)
}
