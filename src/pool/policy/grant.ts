import { formatDuration } from '../../base/durations.ts'
import { sharedBlocks } from '../../tasks/fingerprint.ts'
import type { Instance, Slot, Ticket } from './state.ts'
import { command, setInstance, type SlotChoice, type Step } from './step.ts'
import { dequeue } from './tickets.ts'

/** F2: instance, slot and place are taken in one step, or none of them. */
export function grant(step: Step, ticket: Ticket, choice: SlotChoice): void {
  const { instance, index } = choice
  const slot = instance.slots[index]
  if (slot === undefined) return
  const keptPrefix = step.rules.keptPrefix(slot, ticket.chain)
  const lease = `lease-${step.state.leases + 1}`
  const loadMs = waitedForLoad(instance, ticket)
  command(step, {
    type: 'grant-lease',
    ticket: ticket.id,
    lease,
    model: ticket.model,
    instance: instance.id,
    slot: index,
    keptPrefix,
    queueMs: step.at - ticket.arrivedAt,
    loadMs,
    reason: reasonFor(step, ticket, choice, slot, loadMs),
  })
  dequeue(step, ticket.model, ticket.id)
  occupy(step, ticket, instance, index, slot, lease)
}

function occupy(step: Step, ticket: Ticket, instance: Instance, index: number, slot: Slot, id: string): void {
  const lease = {
    id,
    ticket: ticket.id,
    grantedAt: step.at,
    keepAlive: ticket.keepAlive,
    within: ticket.within,
    before: slot.chain,
  }
  // F11: whatever is cached is stale from the first token of the run on.
  const slots = instance.slots.with(index, { chain: [], usedAt: step.at, lease })
  setInstance(step, { ...instance, slots, leases: instance.leases + 1, usedAt: step.at, served: true })
  step.state.leases = step.state.leases + 1
  if (ticket.within === undefined) step.state.runs = step.state.runs + 1
}

/** The part of the wait in which the granting instance was being loaded. */
function waitedForLoad(instance: Instance, ticket: Ticket): number {
  if (instance.readyAt === undefined || instance.readyAt <= ticket.arrivedAt) return 0
  return instance.readyAt - Math.max(ticket.arrivedAt, instance.startedAt)
}

/** R19: why this slot. */
function reasonFor(step: Step, ticket: Ticket, choice: SlotChoice, slot: Slot, loadMs: number): string {
  const place = `slot ${choice.index} of ${choice.instance.id}`
  const loaded = loadMs > 0 ? `, after ${formatDuration(loadMs)} of loading` : ''
  if (choice.fit === 'empty') return `${place} is empty${loaded}`
  const shared = `${sharedBlocks(slot.chain, ticket.chain)} of ${ticket.chain.length} blocks are shared`
  if (choice.fit === 'continues') return `${place} holds this conversation: ${shared}${loaded}`
  return `${place} was last used ${formatDuration(step.at - slot.usedAt)} ago: ${shared}${loaded}`
}
