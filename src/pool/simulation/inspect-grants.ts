import { sharedBlocks } from '../../tasks/fingerprint.ts'
import type { CommandOf } from '../policy/messages.ts'
import type { PoolState, Ticket } from '../policy/state.ts'
import { breach } from './violation.ts'
import type { Look } from './world.ts'

/** F1, F12, F15, R17: who gets what. */
export function inspectGrant(look: Look, command: CommandOf<'grant-lease'>): void {
  const { decision, world } = look
  const copy = world.copies.get(command.instance)
  const visitor = world.visitors.get(command.ticket)
  const takesPlace = visitor?.request.within === undefined
  if (takesPlace && decision.state.runs > decision.state.limits.concurrency) {
    breach('P4', `${decision.state.runs} runs`)
  }
  // R16: what is read from disk before the run is what the slot holds then.
  const content = visitor?.promised ?? copy?.slots[command.slot]?.content ?? []
  const shared = sharedBlocks(content, visitor?.request.chain ?? [])
  if (command.keptPrefix > shared)
    breach('F1', `${command.lease} keeps ${command.keptPrefix} blocks and shares ${shared}`)
  const plan = decision.state.models.get(command.model)?.model.plan
  if (plan !== undefined && copy?.plan.key !== plan.key) breach('F15', `${command.lease} is for an old plan`)
  overtakesNobody(look, command)
  const leases = decision.state.instances.find(({ id }) => id === command.instance)?.leases
  if (leases === 1) inspectThreads(look, command.instance)
}

/** R17, when an instance begins to compute. After a lowered limit there may be more for a while, but nothing that uses any is added. */
export function inspectThreads({ decision: { state } }: Look, beginner: string): void {
  if (state.instances.find(({ id }) => id === beginner)?.plan.threads === 0) return
  // P14: whoever waits for what it asked for does not compute meanwhile.
  const leases = state.instances.flatMap(({ slots }) => slots.map(({ lease }) => lease?.within))
  const tickets = state.queues.flatMap((queue) => queue.tickets.map(({ within }) => within))
  const asking = new Set([...leases, ...tickets])
  const users = state.instances.filter(
    (instance) =>
      (!asking.has(instance.id) && instance.leases > 0) ||
      (instance.state === 'warming' && instance.coming?.isWarmingUp === true),
  )
  const active = users.reduce((sum, { plan }) => sum + plan.threads, 0)
  const some = users.filter(({ plan }) => plan.threads > 0).length
  if (active > state.limits.threads && some > 1) breach('R17', `${active} threads of ${state.limits.threads}`)
}

/** The order of the queue, counted anew. */
function rank(ticket: Ticket, at: number): number {
  if (ticket.within !== undefined) return -1
  const base = { interactive: 0, normal: 1, background: 2 }[ticket.priority]
  return Math.max(0, base - Math.floor((at - ticket.arrivedAt) / 30_000))
}

export function isBefore(a: Ticket, b: Ticket, at: number): boolean {
  return rank(a, at) < rank(b, at) || (rank(a, at) === rank(b, at) && a.number < b.number)
}

function ticketsBefore(state: PoolState, id: string): Ticket | undefined {
  for (const queue of state.queues) for (const ticket of queue.tickets) if (ticket.id === id) return ticket
  return undefined
}

/** R16: it may wait for a beginning that is being computed or written, and lets others pass meanwhile. */
function mayCopyLater({ instances, contexts }: PoolState, { model, chain }: Ticket): boolean {
  const running = instances
    .filter((instance) => instance.model === model && instance.stateIdentity !== undefined)
    .flatMap(({ slots }) => slots.map(({ lease }) => lease?.chain ?? []))
  const written = contexts.parked.filter(({ writer }) => writer !== undefined).map((context) => context.chain)
  return [...running, ...written].some((coming) => sharedBlocks(coming, chain) > 0)
}

/** R2, F12: within one model nobody is passed, where there is but one copy to choose from. */
function overtakesNobody(
  { before, decision: { state }, event, world }: Look,
  command: CommandOf<'grant-lease'>,
): void {
  const model = state.models.get(command.model)?.model
  const granted = ticketsBefore(before, command.ticket)
  if (world.visitors.get(command.ticket)?.request.within !== undefined) return
  if (model === undefined || model.maxInstances > 1) return
  // R9: whoever waited already when the copy became ready is served by it, whoever else has come since.
  const copy = state.instances.find(({ id }) => id === command.instance)
  if (granted !== undefined && granted.arrivedAt <= (copy?.readyAt ?? -1)) return
  const waiting = state.queues.find((queue) => queue.model === command.model)?.tickets ?? []
  for (const ticket of waiting) {
    if (ticket.wants === 'instance' || mayCopyLater(state, ticket)) continue
    const isPassed =
      granted === undefined ? rank(ticket, event.at) === 0 : isBefore(ticket, granted, event.at)
    if (isPassed) breach('F12', `${command.ticket} passes ${ticket.id}`)
  }
}
