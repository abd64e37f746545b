import { findContext } from './context-budget.ts'
import { orderPark } from './park.ts'
import type { EventOf } from './messages.ts'
import type { WrittenMinute } from './state.ts'
import { command, findInstance, ticketsOf, type Step } from './step.ts'

const MINUTE = 60_000
const HOUR = 60

/**
 * R16, `durability: answer`: what an answer has left in its slot goes to disk at once, if the walk has given the slot to nobody and nobody waits
 * for the model, so that a kill of the server costs no answer's context. Engines write whole slots: never more than so many bytes an hour.
 */
export function parkAnswered(step: Step, event: EventOf<'lease-released'>): void {
  const most = step.state.limits.parking?.answersPerHour
  if (most === undefined || event.usage === undefined || event.untouched) return
  const instance = findInstance(step.state, event.instance)
  const slot = instance?.slots[event.slot]
  if (instance?.state !== 'ready' || slot === undefined || slot.lease !== undefined) return
  if (ticketsOf(step.state, instance.model).length > 0) return
  const written = step.state.contexts.written.filter(({ minute }) => minute > minuteOf(step) - HOUR)
  const left = most - written.reduce((sum, { bytes }) => sum + bytes, 0)
  const order = left <= 0 ? undefined : orderPark(step, instance, event.slot, 0)
  if (order === undefined) return
  const bytes = findContext(step.state, order.context)?.bytes ?? 0
  step.state.contexts = { ...step.state.contexts, written: added(written, minuteOf(step), bytes) }
  command(step, { type: 'park-slot', instance: instance.id, order })
}

function minuteOf({ at }: Step): number {
  return Math.floor(at / MINUTE)
}

function added(written: readonly WrittenMinute[], minute: number, bytes: number): readonly WrittenMinute[] {
  const last = written.at(-1)
  if (last?.minute !== minute) return [...written, { minute, bytes }]
  return [...written.slice(0, -1), { minute, bytes: last.bytes + bytes }]
}
