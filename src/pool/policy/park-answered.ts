import { findContext, setContexts } from './context-budget.ts'
import { parkingMode } from './context-worth.ts'
import { coveringContext, orderPark } from './park.ts'
import type { EventOf } from './messages.ts'
import type { Instance, WrittenMinute } from './state.ts'
import { command, findInstance, ticketsOf, type Step } from './step.ts'

const MINUTE = 60_000
const HOUR = 60

/**
 * R16, `durability: answer`: what an answer has left in its slot goes to disk at once, if the walk has given the slot to nobody and nobody waits
 * for the model, so that a kill of the server costs no answer's context. Engines write whole slots: never more than so many bytes an hour.
 */
export function parkAnswered(step: Step, event: EventOf<'lease-released'>): void {
  if (event.keep === true) return parkKept(step, event)
  const most = step.state.limits.parking?.answersPerHour
  if (most === undefined || event.usage === undefined || event.untouched) return
  const instance = idleInstance(step, event)
  if (instance === undefined) return
  if (ticketsOf(step.state, instance.model).length > 0) return
  const written = step.state.contexts.written.filter(({ minute }) => minute > minuteOf(step) - HOUR)
  const left = most - written.reduce((sum, { bytes }) => sum + bytes, 0)
  const order = left <= 0 ? undefined : orderPark(step, instance, event.slot, 0)
  if (order === undefined) return
  const bytes = findContext(step.state, order.context)?.bytes ?? 0
  step.state.contexts = { ...step.state.contexts, written: added(written, minuteOf(step), bytes) }
  command(step, { type: 'park-slot', instance: instance.id, order })
}

/** P7: a beginning that is wanted for its own sake. Where it is on disk already, or on its way there, that one is kept. */
function parkKept(step: Step, event: EventOf<'lease-released'>): void {
  const { chain = [] } = event
  const instance = idleInstance(step, event)
  const model = instance === undefined ? undefined : step.state.models.get(instance.model)
  if (instance === undefined || model === undefined || chain.length === 0) return
  if (instance.stateIdentity === undefined || parkingMode(step.state, model) === 'off') return
  const known = coveringContext(step.state, instance, { chain })
  if (known !== undefined) return keep(step, known.id)
  const order = orderPark(step, instance, event.slot, 0, undefined, true)
  if (order !== undefined) command(step, { type: 'park-slot', instance: instance.id, order })
}

function keep(step: Step, id: string): void {
  const { parked } = step.state.contexts
  setContexts(
    step,
    parked.map((context) => (context.id === id ? { ...context, isKept: true } : context)),
  )
}

/** The instance whose slot the walk has given to nobody. */
function idleInstance(step: Step, event: EventOf<'lease-released'>): Instance | undefined {
  const instance = findInstance(step.state, event.instance)
  const slot = instance?.slots[event.slot]
  return instance?.state === 'ready' && slot !== undefined && slot.lease === undefined ? instance : undefined
}

function minuteOf({ at }: Step): number {
  return Math.floor(at / MINUTE)
}

function added(written: readonly WrittenMinute[], minute: number, bytes: number): readonly WrittenMinute[] {
  const last = written.at(-1)
  if (last?.minute !== minute) return [...written, { minute, bytes }]
  return [...written.slice(0, -1), { minute, bytes: last.bytes + bytes }]
}
