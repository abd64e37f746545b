import type { SerializedError } from '../../base/errors.ts'
import type { HostReading, MemoryDomain } from '../../host/memory.ts'
import type { PoolLimits } from '../limits.ts'
import { decide, type Decision } from '../policy/decide.ts'
import type { CommandOf, PoolCommand, PoolEvent, PoolFact } from '../policy/messages.ts'
import { emptyState, type Charges, type PoolState } from '../policy/state.ts'
import { answeredChain } from './conversations.ts'
import { measure, newCopy, realPrivate, type Copy } from './copy.ts'
import { EventQueue } from './event-queue.ts'
import { randomNumbers } from './random.ts'
import { poolModelOf, type SimulatedModel } from './simulated-model.ts'
import type { VisitRequest, Visitor } from './visitor.ts'

export interface WorldOptions {
  limits: PoolLimits
  /** Bytes the machine has per domain. */
  host: Charges
  seed?: number
  decide?: (state: PoolState, event: PoolEvent) => Decision
  /** Called after each decision, when its commands are performed. */
  observe?: (look: Look) => void
}

/** One decision and the world it was made in. */
export interface Look {
  readonly before: PoolState
  readonly event: PoolEvent
  readonly decision: Decision
  readonly world: World
}

const SMALL_DELAY = 5

/** A machine with models and visitors on a simulated clock: it performs what the policy orders, not always as hoped. */
export class World {
  now: number = 0
  state: PoolState
  readonly copies: Map<string, Copy> = new Map()
  readonly visitors: Map<string, Visitor> = new Map()
  readonly models: Map<string, SimulatedModel> = new Map()
  /** Facts the policy should have prevented: a grant to nobody, a slot that is not there. */
  readonly absurdities: string[] = []
  events: number = 0
  readonly #options: WorldOptions
  readonly #decide: (state: PoolState, event: PoolEvent) => Decision
  readonly #random: () => number
  readonly #queue = new EventQueue()
  readonly #facts: PoolFact[] = []
  readonly #foreign: Charges = {}
  #isDeciding = false
  #alarmAt = Number.POSITIVE_INFINITY
  #tickets = 0

  constructor(options: WorldOptions) {
    this.#options = options
    this.#decide = options.decide ?? decide
    this.#random = randomNumbers(options.seed ?? 1)
    this.state = emptyState(options.limits)
  }

  declare(model: SimulatedModel): void {
    this.models.set(model.id, model)
    this.send({ type: 'model-declared', model: poolModelOf(model), learned: undefined })
  }

  withdraw(id: string): void {
    this.models.delete(id)
    this.send({ type: 'model-withdrawn', model: id })
  }

  unload(model: string, force = false): void {
    this.send({ type: 'unload-requested', model, instance: undefined, force })
  }

  request(request: VisitRequest): Visitor {
    this.#tickets++
    const visitor: Visitor = {
      ticket: `ticket-${this.#tickets}`,
      request,
      arrivedAt: this.now,
      outcome: 'waiting',
      granted: undefined,
      grantedAt: undefined,
      endedAt: undefined,
      refusedWith: undefined,
      retryAfter: undefined,
    }
    this.visitors.set(visitor.ticket, visitor)
    this.send({ type: 'ticket-arrived', ticket: ticketOf(visitor) })
    return visitor
  }

  /** The visitor leaves at this moment, whatever it is doing. */
  abort(visitor: Visitor): void {
    if (visitor.outcome === 'waiting') {
      this.#end(visitor, 'aborted')
      this.send({ type: 'ticket-aborted', ticket: visitor.ticket, model: visitor.request.model })
    } else if (visitor.outcome === 'granted') this.#finish(visitor, 'fails')
  }

  /** The worker dies. */
  crash(copy: Copy): void {
    if (copy.isGone || copy.loadedAt === undefined) return
    copy.isGone = true
    this.send({ type: 'instance-exited', instance: copy.id, reason: 'signal SIGSEGV', logTail: [] })
    this.after(SMALL_DELAY, () => this.#returned(copy))
  }

  /** It takes more (or less) than before, and is measured. */
  grow(copy: Copy, reality: number): void {
    copy.reality = reality
    if (copy.stage !== 'ready') return
    this.send({ type: 'instance-measured', instance: copy.id, measured: measure(copy) })
  }

  /** Other programs take this much. */
  setForeign(domain: MemoryDomain, bytes: number): void {
    this.#foreign[domain] = bytes
  }

  after(delay: number, action: () => void): void {
    this.#queue.add(this.now + delay, action)
  }

  /** Lets time pass until `until`. */
  run(until: number): void {
    for (let next = this.#queue.nextAt(); next !== undefined && next <= until; next = this.#queue.nextAt()) {
      this.now = Math.max(this.now, next)
      this.#queue.take()?.()
    }
    this.now = Math.max(this.now, until)
  }

  /** Bytes free in a domain, as any program would see them. */
  available(domain: MemoryDomain): number {
    let taken = this.#foreign[domain] ?? 0
    const shared = new Map<string, number>()
    for (const copy of this.copies.values()) {
      taken += realPrivate(copy, domain)
      const weights = copy.plan.sharedWeights
      if (weights?.domain === domain && copy.loadedAt !== undefined) shared.set(weights.key, weights.bytes)
    }
    for (const bytes of shared.values()) taken += bytes
    return Math.max(0, (this.#options.host[domain] ?? 0) - taken)
  }

  reading(): HostReading {
    const reading: HostReading = {}
    for (const domain of Object.keys(this.#options.host) as MemoryDomain[]) {
      const total = this.#options.host[domain] ?? 0
      reading[domain] = { total, available: this.available(domain), source: 'simulated' }
    }
    return reading
  }

  send(fact: PoolFact): void {
    this.#facts.push(fact)
    if (this.#isDeciding) return
    this.#isDeciding = true
    for (let next = this.#facts.shift(); next !== undefined; next = this.#facts.shift()) this.#decideOn(next)
    this.#isDeciding = false
  }

  #decideOn(fact: PoolFact): void {
    const before = this.state
    const event: PoolEvent = { ...fact, at: this.now }
    const decision = this.#decide(before, event)
    this.state = decision.state
    this.events++
    for (const command of decision.commands) this.#perform(command)
    this.#options.observe?.({ before, event, decision, world: this })
  }

  #perform(command: PoolCommand): void {
    switch (command.type) {
      case 'start-load':
        return this.#startLoad(command)
      case 'cancel-load':
        return this.#cancelLoad(this.copies.get(command.instance))
      case 'start-warm-up':
        return this.#warmUp(this.copies.get(command.instance))
      case 'start-unload':
        return this.#unload(this.copies.get(command.instance))
      case 'grant-lease':
        return this.#grant(command)
      case 'cut-lease':
        return this.#cut(command)
      case 'refuse-ticket':
        return this.#refuse(command.ticket, command.error)
      case 'answer-load':
        return this.#answer(command.ticket)
      case 'measure-host':
        return this.send({ type: 'host-measured', reading: this.reading() })
      case 'set-alarm':
        return this.#setAlarm(command.at)
      case 'announce':
        return
    }
  }

  #setAlarm(at: number): void {
    this.#alarmAt = at
    this.#queue.add(at, () => {
      if (this.#alarmAt !== at) return
      this.#alarmAt = Number.POSITIVE_INFINITY
      this.send({ type: 'clock-ticked' })
    })
  }

  #startLoad({ instance, plan }: CommandOf<'start-load'>): void {
    const model = this.models.get(plan.model) ?? { id: plan.model, footprint: plan.footprint }
    const copy = newCopy(instance, plan, model, this.now)
    this.copies.set(instance, copy)
    const loadTime = model.loadTime ?? 100
    const fails = this.#random() < (model.failing ?? 0)
    this.after(loadTime / 2, () => this.#progress(copy))
    this.after(loadTime, () => (fails ? this.#loadFailed(copy, 'crash') : this.#loaded(copy)))
  }

  #progress(copy: Copy): void {
    if (!copy.isGone) this.send({ type: 'load-progressed', instance: copy.id, fraction: 0.5 })
  }

  #loaded(copy: Copy): void {
    if (copy.isGone) return
    copy.stage = 'loaded'
    copy.loadedAt = this.now
    this.send({ type: 'load-finished', instance: copy.id })
  }

  #loadFailed(copy: Copy, failure: 'crash' | 'aborted'): void {
    if (copy.isGone || copy.stage !== 'loading') return
    copy.isGone = true
    this.copies.delete(copy.id)
    const error: SerializedError = {
      code: 'model_load_failed',
      message: 'It did not load.',
      details: { failure },
    }
    this.send({ type: 'load-failed', instance: copy.id, error, failure, logTail: [] })
  }

  /** Some loads come through although they were cancelled. */
  #cancelLoad(copy: Copy | undefined): void {
    if (copy === undefined) return
    copy.isCancelled = true
    if (this.#random() < 0.3) return
    this.after(SMALL_DELAY, () => this.#loadFailed(copy, 'aborted'))
  }

  #warmUp(copy: Copy | undefined): void {
    if (copy === undefined || copy.isGone) return
    copy.stage = 'warming'
    this.after(copy.model.warmUpTime ?? 10, () => {
      if (copy.isGone || copy.stage !== 'warming') return
      copy.stage = 'ready'
      copy.readyAt = this.now
      copy.lastUsedAt = this.now
      this.send({ type: 'warm-up-finished', instance: copy.id, measured: measure(copy) })
    })
  }

  #unload(copy: Copy | undefined): void {
    if (copy === undefined || copy.isGone || copy.stage === 'leaving') return
    copy.stage = 'leaving'
    this.after(copy.model.unloadTime ?? 20, () => {
      if (copy.isGone) return
      copy.isGone = true
      this.send({ type: 'instance-exited', instance: copy.id, reason: 'unloaded', logTail: [] })
      this.after(SMALL_DELAY, () => this.#returned(copy))
    })
  }

  #returned(copy: Copy): void {
    this.copies.delete(copy.id)
    this.send({ type: 'memory-returned', instance: copy.id, released: 0, leaked: 0 })
  }

  #grant(command: CommandOf<'grant-lease'>): void {
    const visitor = this.visitors.get(command.ticket)
    const copy = this.copies.get(command.instance)
    const slot = copy?.slots[command.slot]
    if (visitor === undefined || copy === undefined || slot === undefined) {
      this.absurdities.push(`${command.lease} grants what is not there`)
      return
    }
    if (visitor.outcome === 'aborted') return this.#giveBack(command)
    if (visitor.outcome !== 'waiting')
      this.absurdities.push(`${visitor.ticket} is granted and was ${visitor.outcome}`)
    if (slot.visitor !== undefined) this.absurdities.push(`${command.lease} shares a slot`)
    if (copy.isGone || copy.stage !== 'ready')
      this.absurdities.push(`${command.lease} is for a copy that is ${copy.stage}`)
    visitor.outcome = 'granted'
    visitor.granted = command
    visitor.grantedAt = this.now
    slot.visitor = visitor
    this.#holdFor(visitor, copy)
  }

  /** F8 */
  #giveBack({ lease, instance, slot }: CommandOf<'grant-lease'>): void {
    this.send({ type: 'lease-released', lease, instance, slot, chain: undefined, untouched: true })
  }

  #holdFor(visitor: Visitor, copy: Copy): void {
    const { hold = 1000, manner = 'answers' } = visitor.request
    const crashes = this.#random() < (copy.model.crashing ?? 0)
    this.after(hold, () => {
      if (visitor.outcome !== 'granted') return
      if (crashes) this.crash(copy)
      else this.#finish(visitor, manner)
    })
  }

  #finish(visitor: Visitor, manner: NonNullable<VisitRequest['manner']>): void {
    const { granted, request } = visitor
    if (granted === undefined) return
    const { lease, instance, slot } = granted
    const copy = this.copies.get(instance)
    const chain = manner === 'answers' ? answeredChain(request.chain ?? []) : undefined
    const place = copy?.slots[slot]
    if (copy !== undefined && place !== undefined) {
      if (manner !== 'leaves') place.content = chain
      place.visitor = undefined
      copy.lastUsedAt = this.now
    }
    this.#end(visitor, 'done')
    const release = {
      type: 'lease-released',
      lease,
      instance,
      slot,
      chain,
      untouched: manner === 'leaves',
    } as const
    this.send(release)
    if (request.twice === true) this.after(SMALL_DELAY, () => this.send(release))
  }

  #cut(command: CommandOf<'cut-lease'>): void {
    for (const visitor of this.visitors.values()) {
      if (visitor.granted?.lease !== command.lease || visitor.outcome !== 'granted') continue
      const place = this.copies.get(command.instance)?.slots[visitor.granted.slot]
      if (place !== undefined) {
        place.visitor = undefined
        place.content = undefined
      }
      this.#end(visitor, 'cut')
    }
  }

  #refuse(ticket: string, error: SerializedError): void {
    const visitor = this.visitors.get(ticket)
    if (visitor?.outcome !== 'waiting')
      this.absurdities.push(`${ticket} is refused and was ${visitor?.outcome}`)
    if (visitor === undefined) return
    visitor.refusedWith = error.code
    visitor.retryAfter = error.retryAfter
    this.#end(visitor, 'refused')
  }

  #answer(ticket: string): void {
    const visitor = this.visitors.get(ticket)
    if (visitor?.outcome !== 'waiting')
      this.absurdities.push(`${ticket} is answered and was ${visitor?.outcome}`)
    if (visitor !== undefined) this.#end(visitor, 'done')
  }

  #end(visitor: Visitor, outcome: Visitor['outcome']): void {
    visitor.outcome = outcome
    visitor.endedAt = this.now
  }
}

function ticketOf(visitor: Visitor): Extract<PoolFact, { type: 'ticket-arrived' }>['ticket'] {
  const { model, chain, priority, keepAlive, timeout, wants, force, immediate } = visitor.request
  return {
    id: visitor.ticket,
    model,
    wants: wants ?? 'lease',
    chain: chain ?? [],
    priority: priority ?? 'normal',
    keepAlive,
    timeout,
    immediate: immediate ?? false,
    force: force ?? false,
  }
}
