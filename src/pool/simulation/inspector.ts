import type { MemoryDomain } from '../../host/memory.ts'
import { footprintTotal } from '../../host/memory.ts'
import { sharedBlocks } from '../../tasks/fingerprint.ts'
import type { PoolLimits } from '../limits.ts'
import type { CommandOf, PoolCommand } from '../policy/messages.ts'
import type { Charges, Instance, PoolState, Ticket } from '../policy/state.ts'
import { newCopy, type Copy } from './copy.ts'
import type { Look, World } from './world.ts'

/** A decision that breaks a rule. */
export class Violation extends Error {
  override readonly name = 'Violation'
  readonly rule: string

  constructor(rule: string, message: string) {
    super(`${rule}: ${message}`)
    this.rule = rule
  }
}

/**
 * Holds every decision against the rules, by its own count of what is really there and not by the policy's. Throws at the first breach.
 */
export class Inspector {
  readonly #lastFailure = new Map<string, number>()
  #stopped = false

  /** To be called after each decision. */
  readonly observe = (look: Look): void => {
    if (look.event.type === 'stop-requested') this.#stopped = true
    this.#counts(look)
    for (const command of look.decision.commands) this.#inspect(look, command)
    this.#noLoadForNobody(look)
    this.#remember(look)
  }

  #inspect(look: Look, command: PoolCommand): void {
    if (command.type === 'start-load') this.#startLoad(look, command)
    if (command.type === 'grant-lease') this.#grant(look, command)
    if (command.type === 'start-warm-up') threads(look)
    if (command.type === 'start-unload') this.#startUnload(look, command)
    if (command.type === 'set-alarm' && command.at <= look.event.at) breach('alarm', 'rings in the past')
  }

  /** F2, F9, P4: leases balance, and what the world saw is possible. */
  #counts({ decision: { state }, event, world }: Look): void {
    const [absurdity] = world.absurdities
    if (absurdity !== undefined) breach('F15', absurdity)
    let runs = 0
    for (const instance of state.instances) {
      const leased = instance.slots.filter((slot) => slot.lease !== undefined).length
      if (leased !== instance.leases)
        breach('F9', `${instance.id} counts ${instance.leases} leases and has ${leased}`)
      runs += leased
    }
    if (runs !== state.runs) breach('F2', `${state.runs} runs are counted, ${runs} slots are leased`)
    boundedQueues(state, event.type === 'ticket-arrived')
  }

  /** R4, R5, R8, R10, R11: every load that starts has room, by promise or measurement of all that is really there. */
  #startLoad({ decision: { state }, event, world }: Look, { instance, plan }: CommandOf<'start-load'>): void {
    if (this.#stopped) breach('P12', `${instance} is loaded after the stop`)
    const started = state.instances.find(({ id }) => id === instance)
    withinLimits(world, state, instance, started?.forced ?? false)
    if (event.type !== 'host-measured') breach('R5', `${instance} is loaded without a look at the host`)
    hostCovers(world, state, instance)
    const copies = presentWith(world, instance).filter((copy) => copy.plan.key === plan.key)
    const most = Math.max(1, state.models.get(plan.model)?.model.maxInstances ?? 1)
    if (copies.filter(isCounted(state)).length > most) breach('R10', `${copies.length} copies of ${plan.key}`)
    const failedAt = this.#lastFailure.get(plan.key) ?? Number.NEGATIVE_INFINITY
    if (event.at < failedAt + state.limits.backoff.first)
      breach('R11', `${instance} is loaded without a backoff`)
  }

  /** F1, F12, F15, R17: who gets what. */
  #grant(look: Look, command: CommandOf<'grant-lease'>): void {
    const { decision, world } = look
    if (this.#stopped) breach('P12', `${command.lease} is granted after the stop`)
    if (decision.state.runs > decision.state.limits.concurrency) breach('P4', `${decision.state.runs} runs`)
    const copy = world.copies.get(command.instance)
    const visitor = world.visitors.get(command.ticket)
    const content = copy?.slots[command.slot]?.content ?? []
    const shared = sharedBlocks(content, visitor?.request.chain ?? [])
    if (command.keptPrefix > shared)
      breach('F1', `${command.lease} keeps ${command.keptPrefix} blocks and shares ${shared}`)
    const plan = decision.state.models.get(command.model)?.model.plan
    if (plan !== undefined && copy?.plan.key !== plan.key)
      breach('F15', `${command.lease} is for an old plan`)
    overtakesNobody(look, command)
    const leases = decision.state.instances.find(({ id }) => id === command.instance)?.leases
    if (leases === 1) threads(look)
  }

  /** R7, R13, F13, F19: who goes by our own decision. */
  #startUnload(look: Look, { instance: id }: CommandOf<'start-unload'>): void {
    const { decision, before } = look
    const gone = decision.state.instances.find((instance) => instance.id === id)
    const was = before.instances.find((instance) => instance.id === id)
    const cause = gone?.leaving?.cause
    if (gone === undefined || was === undefined || (cause !== 'evicted' && cause !== 'idle')) return
    if (
      look.world.copies.get(id)?.slots.some((slot) => slot.visitor !== undefined) === true &&
      was.leases > 0
    )
      breach('R7', `${id} is busy and goes as ${cause}`)
    const model = decision.state.models.get(gone.model)
    if (model?.model.pinned === true) breach('F19', `${id} is pinned and goes as ${cause}`)
    const left = ready(decision.state, gone)
    if (left < (model?.model.minInstances ?? 0)) breach('F13', `${left} copies of ${gone.model} are left`)
    if (cause === 'idle') return reallyIdle(look, gone)
    notAwaited(look, gone)
    if (!before.overBudget && !decision.state.overBudget) wasWorthIt(look)
  }

  /** R10, F8, F17 */
  #noLoadForNobody({ decision: { state } }: Look): void {
    for (const load of state.instances) {
      if (load.state !== 'loading' && load.state !== 'warming') continue
      const model = state.models.get(load.model)
      const isAsked =
        state.queues.some((queue) => queue.model === load.model) ||
        (model?.model.minInstances ?? 0) > 0 ||
        state.instances.some((other) => other.model === load.model && other.leases > 0)
      if (!isAsked) breach('R10', `${load.id} is loaded and nobody waits`)
    }
  }

  #remember({ event, before }: Look): void {
    // What is declared after that is another model, though it may have the same name.
    if (event.type === 'model-withdrawn') this.#lastFailure.clear()
    if (event.type !== 'load-failed' && event.type !== 'warm-up-failed') return
    const failed = before.instances.find((instance) => instance.id === event.instance)
    if (failed !== undefined && failed.state !== 'unloading') this.#lastFailure.set(failed.plan.key, event.at)
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

function breach(rule: string, message: string): never {
  throw new Violation(rule, message)
}

/** Unloads that hang are made good for by another copy (R8). */
function isCounted(state: PoolState): (copy: Copy) => boolean {
  return (copy) => state.instances.find(({ id }) => id === copy.id)?.leaving?.isStuck !== true
}

/** Bytes of a copy by itself: the larger of what its plan says and what it takes. */
function charge(copy: Copy, state: PoolState, domain: MemoryDomain): number {
  const terms = copy.plan.footprint[domain]
  if (terms === undefined) return 0
  const shared = copy.plan.sharedWeights?.domain === domain ? copy.plan.sharedWeights.bytes : 0
  const promised = footprintTotal(terms) - shared
  const known = state.instances.find(({ id }) => id === copy.id)
  const corrected = known?.promise[domain] ?? promised
  const measured = copy.reported?.[domain]?.private ?? 0
  return Math.max(Math.min(promised, corrected), measured)
}

/** All that is there when this one starts: what the same decision starts later does not count yet. */
function presentWith(world: World, newcomer: string): Copy[] {
  const copies = [...world.copies.values()]
  return copies.slice(0, copies.findIndex(({ id }) => id === newcomer) + 1)
}

function booked(copies: Iterable<Copy>, state: PoolState): Charges {
  const sum: Charges = {}
  const shared = new Map<string, { domain: MemoryDomain; bytes: number }>()
  for (const copy of copies) {
    for (const domain of Object.keys(copy.plan.footprint) as MemoryDomain[]) {
      sum[domain] = (sum[domain] ?? 0) + charge(copy, state, domain)
    }
    if (copy.plan.sharedWeights !== undefined)
      shared.set(copy.plan.sharedWeights.key, copy.plan.sharedWeights)
  }
  for (const { domain, bytes } of shared.values()) sum[domain] = (sum[domain] ?? 0) + bytes
  return sum
}

function withinLimits(world: World, state: PoolState, newcomer: string, forced: boolean): void {
  const present = presentWith(world, newcomer)
  const sums = booked(present, state)
  for (const domain of Object.keys(sums) as MemoryDomain[]) {
    const limit = state.limits.memory[domain]
    const most = forced ? (limit?.absolute ?? 0) : (limit?.budget ?? 0)
    if ((sums[domain] ?? 0) > most) breach('R4', `${domain} holds ${sums[domain]} of ${most}`)
  }
  const large = new Set(present.filter((copy) => isLarge(copy, state)).map((copy) => copy.plan.model))
  const own = world.copies.get(newcomer)
  if (own === undefined || !isLarge(own, state)) return
  if (large.size > state.limits.maxLargeModels) breach('M6', `${large.size} large models`)
}

function isLarge(copy: Copy, state: PoolState): boolean {
  const domains = Object.keys(copy.plan.footprint) as MemoryDomain[]
  const own = domains.reduce((sum, domain) => sum + charge(copy, state, domain), 0)
  return own + (copy.plan.sharedWeights?.bytes ?? 0) >= state.limits.smallModel
}

/** R5: what is free now, less what loads in progress will still take, covers the newcomer and the headroom. */
function hostCovers(world: World, state: PoolState, newcomer: string): void {
  for (const domain of Object.keys(state.limits.memory) as MemoryDomain[]) {
    let needed = 0
    for (const copy of presentWith(world, newcomer)) {
      if (copy.loadedAt === undefined && copy.stage === 'loading' && !copy.isCancelled) {
        needed += charge(copy, state, domain)
      }
    }
    const own = world.copies.get(newcomer)
    if (own === undefined || charge(own, state, domain) === 0) continue
    const headroom = domain === 'ram' ? state.limits.headroom : 0
    if (world.available(domain) < needed + headroom)
      breach('R5', `${newcomer} is loaded into too little free ${domain}`)
  }
}

/** R17 */
function threads({ decision: { state } }: Look): void {
  const users = state.instances.filter(
    (instance) =>
      instance.leases > 0 || (instance.state === 'warming' && instance.coming?.isWarmingUp === true),
  )
  const active = users.reduce((sum, { plan }) => sum + plan.threads, 0)
  const some = users.filter(({ plan }) => plan.threads > 0).length
  if (active > state.limits.threads && some > 1) breach('R17', `${active} threads of ${state.limits.threads}`)
}

function rank(ticket: Ticket, at: number): number {
  const base = { interactive: 0, normal: 1, background: 2 }[ticket.priority]
  return Math.max(0, base - Math.floor((at - ticket.arrivedAt) / 30_000))
}

function isBefore(a: Ticket, b: Ticket, at: number): boolean {
  return rank(a, at) < rank(b, at) || (rank(a, at) === rank(b, at) && a.number < b.number)
}

function ticketsBefore(state: PoolState, id: string): Ticket | undefined {
  for (const queue of state.queues) for (const ticket of queue.tickets) if (ticket.id === id) return ticket
  return undefined
}

/** R2, F12: within one model nobody is passed, where there is but one copy to choose from. */
function overtakesNobody(
  { before, decision: { state }, event }: Look,
  command: CommandOf<'grant-lease'>,
): void {
  const model = state.models.get(command.model)?.model
  const granted = ticketsBefore(before, command.ticket)
  if (model === undefined || model.maxInstances > 1) return
  // R9: whoever waited already when the copy became ready is served by it, whoever else has come since.
  const copy = state.instances.find(({ id }) => id === command.instance)
  if (granted !== undefined && granted.arrivedAt <= (copy?.readyAt ?? -1)) return
  const waiting = state.queues.find((queue) => queue.model === command.model)?.tickets ?? []
  for (const ticket of waiting) {
    if (ticket.wants === 'instance') continue
    const isPassed =
      granted === undefined ? rank(ticket, event.at) === 0 : isBefore(ticket, granted, event.at)
    if (isPassed) breach('F12', `${command.ticket} passes ${ticket.id}`)
  }
}

function ready(state: PoolState, like: Instance): number {
  return state.instances.filter(
    (instance) =>
      instance.model === like.model && instance.plan.key === like.plan.key && instance.state === 'ready',
  ).length
}

/** R7, R9: someone comes before all who wait for the victim, and nobody is owed its service. */
function notAwaited({ decision: { state }, event, before }: Look, victim: Instance): void {
  const waiting = state.queues.find((queue) => queue.model === victim.model)?.tickets ?? []
  const readyAt = victim.readyAt ?? 0
  if (event.at < readyAt + state.limits.minimumResidency) breach('R7', `${victim.id} was loaded a moment ago`)
  if (waiting.length === 0) return
  if (waiting.some((ticket) => ticket.arrivedAt <= readyAt)) breach('R9', `${victim.id} still owes a service`)
  const others = [...state.queues, ...before.queues]
    .filter((queue) => queue.model !== victim.model)
    .flatMap((queue) => queue.tickets)
  const passed = waiting.find((ticket) => !others.some((other) => isBefore(other, ticket, event.at)))
  if (passed !== undefined) breach('R7', `${victim.id} is awaited by ${passed.id}`)
}

/** M7: nobody goes before it is known that somebody's load can succeed, in the budget and on the host. */
function wasWorthIt({ decision: { state }, event, world }: Look): void {
  if (event.type !== 'host-measured') breach('F19', 'somebody is evicted without a look at the host')
  const asking = [...state.queues.map(({ model }) => model), ...state.minimums]
  if (!asking.some((id) => couldLoad(world, state, id)))
    breach('F19', 'somebody is evicted for a load that cannot succeed')
}

/** With all that is leaving gone, the model fits the limits and the machine. */
function couldLoad(world: World, state: PoolState, id: string): boolean {
  const model = state.models.get(id)?.model
  if (model === undefined) return false
  const isForced = state.queues.some(
    (queue) => queue.model === id && queue.tickets.some(({ force }) => force),
  )
  const staying = [...world.copies.values()].filter(
    (copy) => copy.stage !== 'leaving' && !copy.isCancelled && !copy.isGone,
  )
  const newcomer = newCopy('newcomer', model.plan, { id, footprint: model.plan.footprint }, 0)
  const sums = booked([...staying, newcomer], state)
  return (Object.keys(newcomer.plan.footprint) as MemoryDomain[]).every((domain) => {
    const limit = state.limits.memory[domain]
    const most = (isForced ? limit?.absolute : limit?.budget) ?? 0
    const leaving = [...world.copies.values()].filter((copy) => !staying.includes(copy))
    const back = leaving.reduce(
      (sum, copy) => sum + charge(copy, state, domain) + (copy.plan.sharedWeights?.bytes ?? 0),
      0,
    )
    const correction = Math.min(charge(newcomer, state, domain), correctedNeed(state, id, domain))
    const need = Math.min(correction, charge(newcomer, state, domain))
    return (
      (sums[domain] ?? 0) - charge(newcomer, state, domain) + need <= most &&
      world.available(domain) + back >= need
    )
  })
}

/** What was learned of the plan may have made its need smaller, by no more than the context. */
function correctedNeed(state: PoolState, id: string, domain: MemoryDomain): number {
  const model = state.models.get(id)
  const seen = model?.learned?.[domain]
  const context = model?.model.plan.footprint[domain]?.context ?? 0
  if (seen === undefined) return Number.POSITIVE_INFINITY
  const isShared = model?.model.plan.sharedWeights?.domain === domain
  return seen.private + (isShared ? 0 : seen.shared) + context
}

/** R13, BR-21: counted from the end of the last lease. */
function reallyIdle({ world, event }: Look, gone: Instance): void {
  const copy = world.copies.get(gone.id)
  if (copy === undefined) return
  const idle = event.at - Math.max(copy.lastUsedAt, copy.readyAt ?? 0)
  if (idle < gone.keepAlive) breach('F13', `${gone.id} goes after ${idle} of ${gone.keepAlive} ms`)
}

/** Whether anything of the limits is exceeded now; for the end of a history. */
export function isWithin(limits: PoolLimits, world: World): boolean {
  const sums = booked(world.copies.values(), world.state)
  return (Object.keys(sums) as MemoryDomain[]).every(
    (domain) => (sums[domain] ?? 0) <= (limits.memory[domain]?.budget ?? 0),
  )
}
