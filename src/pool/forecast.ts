import type { SerializedError } from '../base/errors.ts'
import type { HostReading, MeasuredFootprint, MemoryDomain } from '../host/memory.ts'
import { needsOf } from './policy/budget.ts'
import { costSentence } from './policy/cost.ts'
import { decide } from './policy/decide.ts'
import { residencyOf } from './policy/evict.ts'
import { largestContext } from './policy/largest-context.ts'
import { hostShort } from './policy/refusals.ts'
import { demandFor, findRoom, movable, type Room } from './policy/room.ts'
import { RULES } from './policy/rules.ts'
import type { Instance, ModelState, PoolState } from './policy/state.ts'
import { copiesOf, newStep, newTurn, type Demand, type Step } from './policy/step.ts'
import { isServing } from './policy/waiting.ts'
import type { PoolModel } from './pool-model.ts'

/** What loading a model would do now: the same rules, asked in advance. Bytes. */
export interface LoadForecast {
  model: string
  /** What it would be charged per domain, shared weights included. */
  bytes: Partial<Record<MemoryDomain, number>>
  contextSize: number
  slots: number
  /** `resident`: a copy is in memory or on its way; `fits`: it would be loaded at once; `evicts`: after these have gone; `waits`: those in the way are busy or too fresh; `refused`: not at all. */
  outcome: 'resident' | 'fits' | 'evicts' | 'waits' | 'refused'
  /** Who would go, or who is in the way, and why them. */
  evicts: { instance: string; bytes: number; idleFor: number; reason: string }[]
  refusal?: SerializedError
  /** Tokens per slot; null when none fits. */
  largestContext: number | null
}

export function forecastOf(
  state: PoolState,
  model: ModelState,
  at: number,
  reading: HostReading,
): LoadForecast {
  const step = newStep(state, at, RULES)
  step.host = reading
  const demand = demandFor(model, undefined)
  const { plan } = model.model
  const about = {
    model: model.model.id,
    bytes: RULES.ledger([demand]),
    contextSize: plan.contextSize,
    slots: plan.slots,
    largestContext: largestContext(step, demand, plan),
  }
  if (copiesOf(state, model).some(isServing)) return { ...about, outcome: 'resident', evicts: [] }
  const refusal = RULES.impossible(step, demand)
  if (refusal !== undefined) return { ...about, outcome: 'refused', evicts: [], refusal }
  return { ...about, ...outcomeOf(step, demand, findRoom(step, newTurn(), demand, true)) }
}

/** R6: why a model could never be loaded if it were described like this; undefined = it could. */
export function refusalOf(
  state: PoolState,
  { model, learned, force }: { model: PoolModel; learned: MeasuredFootprint | undefined; force: boolean },
  at: number,
): SerializedError | undefined {
  const declared = decide(state, { type: 'model-declared', at, model, learned }).state
  const step = newStep(declared, at, RULES)
  return RULES.impossible(step, { ...needsOf(model, learned).needs, ticket: undefined, force })
}

function outcomeOf(
  step: Step,
  demand: Demand,
  room: Room,
): Pick<LoadForecast, 'outcome' | 'evicts' | 'refusal'> {
  if (room.kind === 'free') return { outcome: 'fits', evicts: [] }
  if (room.kind === 'evict')
    return { outcome: 'evicts', evicts: room.victims.map((one) => described(step, one)) }
  if (room.kind === 'host-short') {
    const refusal = hostShort(demand.model, room.shortage, 0, step.state.limits.memoryGrace)
    return { outcome: 'refused', evicts: [], refusal }
  }
  const inTheWay = room.kind === 'leaving' ? room.instances : movable(step, demand)
  return { outcome: 'waits', evicts: inTheWay.map((one) => described(step, one)) }
}

function described(step: Step, instance: Instance): LoadForecast['evicts'][number] {
  const idleFor = step.at - instance.usedAt
  return { instance: instance.id, bytes: instance.total, idleFor, reason: reasonOf(step, instance) }
}

function reasonOf(step: Step, instance: Instance): string {
  if (instance.state === 'unloading') return 'is on its way out'
  if (instance.leases > 0) return `runs ${instance.leases} requests`
  if (instance.state !== 'ready') return `is ${instance.state}`
  const isSafe = step.at < step.rules.safeUntil(instance, residencyOf(step, instance))
  return isSafe ? 'was loaded or used a moment ago' : `idle, and ${costSentence(step, instance)}`
}
