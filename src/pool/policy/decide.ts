import { trimContexts } from './context-budget.ts'
import { sweepIdle } from './expiry.ts'
import { settleArrival } from './handle-tickets.ts'
import type { PoolCommand, PoolEvent } from './messages.ts'
import { parkAnswered } from './park-answered.ts'
import { relievePressure } from './relieve-pressure.ts'
import { RULES } from './rules.ts'
import { settle, wakeForDeadlines } from './settle.ts'
import { NO_ALARM, type PoolState } from './state.ts'
import { command, newStep, type Rules, type Step } from './step.ts'
import { trim } from './trim.ts'
import { isNobodyWaiting } from './walk.ts'

export interface Decision {
  readonly state: PoolState
  /** In the order in which they are to be performed. */
  readonly commands: readonly PoolCommand[]
}

/**
 * R1: the only place where the pool's state changes. Total and synchronous: what an event means is noted, what time has brought about is
 * settled, everybody who waits is looked at again, the idle go, and the next moment to look is set. What matters to nobody
 * needs no look, if the last one was settled and the alarm for what time brings about has not rung.
 */
export function decide(state: PoolState, event: PoolEvent, rules: Rules = RULES): Decision {
  const step = newStep(state, event.at, rules)
  const handle = rules.handlers[event.type] as (step: Step, event: PoolEvent) => void
  handle(step, event)
  if (step.isOfNoMatter && state.isSettled && state.alarm > event.at)
    return { state: step.state, commands: step.commands }
  settle(step)
  const { instances, models, queues, contexts } = step.state
  rules.walk(step)
  if (event.type === 'ticket-arrived') settleArrival(step, event)
  if (event.type === 'lease-released') parkAnswered(step, event)
  trim(step)
  trimContexts(step)
  relievePressure(step)
  sweepIdle(step)
  wakeForDeadlines(step)
  if (step.wantsHost) command(step, { type: 'measure-host' })
  setAlarm(step)
  const after = step.state
  const isUnchanged =
    after.instances === instances &&
    after.models === models &&
    after.queues === queues &&
    after.contexts === contexts
  after.isSettled = isNobodyWaiting(after) ? after.waits.size === 0 : isUnchanged && waitsForEvents(step)
  return { state: after, commands: step.commands }
}

/** A fresh reading of the host, or the end of a backoff, may change what comes of a look. */
function waitsForEvents({ state, at, host, wantsHost }: Step): boolean {
  if (host !== undefined || wantsHost) return false
  return state.queues.every(({ model }) => (state.models.get(model)?.retryAt ?? 0) <= at)
}

/** An alarm that rings too early does no harm; so a standing one is only replaced by an earlier one, or when it has rung. */
function setAlarm(step: Step): void {
  const { alarm } = step.state
  const isPending = alarm > step.at && alarm !== NO_ALARM
  if (isPending && alarm <= step.wakeAt) return
  if (alarm === step.wakeAt) return
  step.state.alarm = step.wakeAt
  if (step.wakeAt !== NO_ALARM) command(step, { type: 'set-alarm', at: step.wakeAt })
}
