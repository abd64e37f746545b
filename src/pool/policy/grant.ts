import { formatDuration } from '../../base/durations.ts'
import { sharedBlocks } from '../../tasks/fingerprint.ts'
import { instanceDraft, type Draft } from './copies.ts'
import { askedOnceMore } from './cost.ts'
import { tokensIn } from './context-worth.ts'
import type { CommandOf, ParkOrder } from './messages.ts'
import { chooseBranch } from './branch.ts'
import { orderPark } from './park.ts'
import { chooseRestore, type RestoreChoice } from './restore.ts'
import type { HeldLease, Instance, Slot, Ticket } from './state.ts'
import { command, setInstance, type SlotChoice, type Step } from './step.ts'
import { dequeue } from './tickets.ts'

/** F2: instance, slot and place are taken in one step, or none of them. */
export function grant(step: Step, ticket: Ticket, choice: SlotChoice): void {
  const { instance, index } = choice
  const slot = instance.slots[index]
  if (slot === undefined) return
  const { park, restore, keptPrefix } = preparationFor(step, ticket, choice, slot)
  const lease = `lease-${step.state.leases + 1}`
  const loadMs = waitedForLoad(instance, ticket)
  const order: Draft<CommandOf<'grant-lease'>> = {
    type: 'grant-lease',
    ticket: ticket.id,
    lease,
    model: ticket.model,
    instance: instance.id,
    slot: index,
    keptPrefix,
    queueMs: step.at - ticket.arrivedAt,
    loadMs,
    reason: reasonFor(step, ticket, choice, slot, loadMs, restore),
  }
  if (park.length > 0) order.park = park
  if (restore !== undefined) order.restore = restore.context.id
  const pace = step.state.models.get(ticket.model)?.contexts.prefillPerToken
  if (pace !== undefined) order.pace = pace
  command(step, order)
  dequeue(step, ticket.model, ticket.id)
  const parking = park.map(({ context }) => context)
  const reading = restore?.context.id
  occupy(step, ticket, choice, slot, { id: lease, expected: restore?.tokens ?? 0, reading, parking })
}

interface Preparation {
  readonly park: readonly ParkOrder[]
  readonly restore: RestoreChoice | undefined
  readonly keptPrefix: number
}

/** R16: what is read into the slot before the run, and what of its old content is written before that. */
function preparationFor(
  step: Step,
  ticket: Ticket,
  { instance, index }: SlotChoice,
  slot: Slot,
): Preparation {
  const held = step.rules.keptPrefix(slot, ticket.chain)
  const kept = tokensIn(slot.chain, slot.tokens, held)
  const read = chooseRestore(step, instance, ticket.chain, kept)
  const branch = chooseBranch(step, instance, index, ticket.chain, read?.tokens ?? kept)
  const restore = branch?.restore ?? read
  const own = orderPark(step, instance, index, restore === undefined ? kept : 0, restore?.context.id)
  const park = [own, branch?.order].filter((order) => order !== undefined)
  return { park, restore, keptPrefix: restore?.blocks ?? held }
}

function occupy(
  step: Step,
  ticket: Ticket,
  { instance, index }: SlotChoice,
  slot: Slot,
  named: Pick<HeldLease, 'id' | 'expected' | 'reading' | 'parking'>,
): void {
  const lease = {
    id: named.id,
    ticket: ticket.id,
    grantedAt: step.at,
    keepAlive: ticket.keepAlive,
    chain: ticket.chain,
    promptTokens: undefined,
    readIn: 0,
    within: ticket.within,
    before: slot.chain,
    beforeTokens: slot.tokens,
    expected: named.expected,
    reading: named.reading,
    parking: named.parking,
  }
  // F11: whatever is cached is stale from the first token of the run on.
  const busier = instanceDraft(instance)
  busier.slots = instance.slots.with(index, { chain: [], tokens: 0, usedAt: step.at, lease })
  busier.asked = askedOnceMore(step, instance.asked)
  busier.leases = instance.leases + 1
  busier.usedAt = step.at
  busier.served = true
  setInstance(step, busier)
  step.state.leases = step.state.leases + 1
  if (ticket.within === undefined) step.state.runs = step.state.runs + 1
}

/** The part of the wait in which the granting instance was being loaded. */
function waitedForLoad(instance: Instance, ticket: Ticket): number {
  if (instance.readyAt === undefined || instance.readyAt <= ticket.arrivedAt) return 0
  return instance.readyAt - Math.max(ticket.arrivedAt, instance.startedAt)
}

/** R19: why this slot. */
function reasonFor(
  step: Step,
  ticket: Ticket,
  choice: SlotChoice,
  slot: Slot,
  loadMs: number,
  restore?: RestoreChoice,
): string {
  const place = `slot ${choice.index} of ${choice.instance.id}`
  const loaded = loadMs > 0 ? `, after ${formatDuration(loadMs)} of loading` : ''
  if (restore !== undefined) {
    const { tokens, id } = restore.context
    return `${place}, from ${id} on disk: ${restore.blocks} of ${ticket.chain.length} blocks, of ${tokens} tokens${loaded}`
  }
  if (choice.fit === 'empty') return `${place} is empty${loaded}`
  const shared = `${sharedBlocks(slot.chain, ticket.chain)} of ${ticket.chain.length} blocks are shared`
  if (choice.fit === 'continues') return `${place} holds this conversation: ${shared}${loaded}`
  return `${place} was last used ${formatDuration(step.at - slot.usedAt)} ago: ${shared}${loaded}`
}
