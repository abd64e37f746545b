import type { SerializedError } from '../../base/errors.ts'
import type { PoolLimits } from '../limits.ts'
import { decide, type Decision } from '../policy/decide.ts'
import type { CommandOf, PoolCommand, PoolEvent, PoolFact } from '../policy/messages.ts'
import { emptyState, type Charges, type PoolState } from '../policy/state.ts'
import { answeredChain } from './conversations.ts'
import type { Copy } from './copy.ts'
import { EventQueue } from './event-queue.ts'
import { Machine, SMALL_DELAY } from './machine.ts'
import { randomNumbers } from './random.ts'
import { poolModelOf, type SimulatedModel } from './simulated-model.ts'
import { newVisitor, ticketOf, type Manner, type VisitRequest, type Visitor } from './visitor.ts'

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

/** A machine and its visitors on a simulated clock, under the policy. */
export class World {
  readonly machine: Machine
  readonly visitors: Map<string, Visitor> = new Map()
  /** What the policy should have prevented: a grant to nobody, a slot that is not there. */
  readonly absurdities: string[] = []
  #now = 0
  #state: PoolState
  #events = 0
  readonly #options: WorldOptions
  readonly #decide: (state: PoolState, event: PoolEvent) => Decision
  readonly #random: () => number
  readonly #queue = new EventQueue()
  readonly #facts: PoolFact[] = []
  #isDeciding = false
  #alarmAt = Number.POSITIVE_INFINITY

  constructor(options: WorldOptions) {
    this.#options = options
    this.#decide = options.decide ?? decide
    this.#random = randomNumbers(options.seed ?? 1)
    this.#state = emptyState(options.limits)
    this.machine = new Machine(options.host, {
      now: () => this.#now,
      after: (delay, action) => this.after(delay, action),
      random: this.#random,
      report: (fact) => this.send(fact),
    })
  }

  /** Simulated milliseconds. */
  get now(): number {
    return this.#now
  }

  get state(): PoolState {
    return this.#state
  }

  /** Number of events decided so far. */
  get events(): number {
    return this.#events
  }

  get copies(): ReadonlyMap<string, Copy> {
    return this.machine.copies
  }

  declare(model: SimulatedModel): void {
    this.machine.models.set(model.id, model)
    this.send({ type: 'model-declared', model: poolModelOf(model), learned: undefined })
  }

  withdraw(id: string): void {
    this.machine.models.delete(id)
    this.send({ type: 'model-withdrawn', model: id })
  }

  unload(model: string, force = false): void {
    this.send({ type: 'unload-requested', model, instance: undefined, force })
  }

  request(request: VisitRequest): Visitor {
    const visitor = newVisitor(`ticket-${this.visitors.size + 1}`, request, this.#now)
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

  after(delay: number, action: () => void): void {
    this.#queue.add(this.#now + delay, action)
  }

  /** Lets time pass until `until`. */
  run(until: number): void {
    for (let next = this.#queue.nextAt(); next !== undefined && next <= until; next = this.#queue.nextAt()) {
      this.#now = Math.max(this.#now, next)
      this.#queue.take()?.()
    }
    this.#now = Math.max(this.#now, until)
  }

  send(fact: PoolFact): void {
    this.#facts.push(fact)
    if (this.#isDeciding) return
    this.#isDeciding = true
    for (let next = this.#facts.shift(); next !== undefined; next = this.#facts.shift()) this.#decideOn(next)
    this.#isDeciding = false
  }

  #decideOn(fact: PoolFact): void {
    const before = this.#state
    const event: PoolEvent = { ...fact, at: this.#now }
    const decision = this.#decide(before, event)
    this.#state = decision.state
    this.#events++
    for (const command of decision.commands) this.#perform(command)
    this.#options.observe?.({ before, event, decision, world: this })
  }

  #perform(command: PoolCommand): void {
    switch (command.type) {
      case 'start-load':
        return this.machine.startLoad(command)
      case 'cancel-load':
        return this.machine.cancelLoad(command.instance)
      case 'start-warm-up':
        return this.machine.warmUp(command.instance)
      case 'start-unload':
        return this.machine.unload(command.instance)
      case 'measure-host':
        return this.send({ type: 'host-measured', reading: this.machine.reading() })
      case 'set-alarm':
        return this.#setAlarm(command.at)
      case 'announce':
        return
      default:
        return this.#performForVisitor(command)
    }
  }

  #performForVisitor(
    command: CommandOf<'grant-lease' | 'cut-lease' | 'refuse-ticket' | 'answer-load'>,
  ): void {
    if (command.type === 'grant-lease') return this.#grant(command)
    if (command.type === 'cut-lease') return this.#cut(command)
    if (command.type === 'refuse-ticket') return this.#refuse(command.ticket, command.error)
    const visitor = this.#waiting(command.ticket, 'answered')
    if (visitor !== undefined) this.#end(visitor, 'done')
  }

  #setAlarm(at: number): void {
    this.#alarmAt = at
    this.#queue.add(at, () => {
      if (this.#alarmAt !== at) return
      this.#alarmAt = Number.POSITIVE_INFINITY
      this.send({ type: 'clock-ticked' })
    })
  }

  /** Every ticket ends exactly once. */
  #waiting(ticket: string, how: string): Visitor | undefined {
    const visitor = this.visitors.get(ticket)
    if (visitor?.outcome !== 'waiting')
      this.absurdities.push(`${ticket} is ${how} and was ${visitor?.outcome}`)
    return visitor
  }

  #grant(command: CommandOf<'grant-lease'>): void {
    const copy = this.copies.get(command.instance)
    const slot = copy?.slots[command.slot]
    // F8: whoever left in the meantime gives it back at once.
    if (this.visitors.get(command.ticket)?.outcome === 'aborted') return this.#giveBack(command)
    const visitor = this.#waiting(command.ticket, 'granted')
    if (copy === undefined || slot === undefined || copy.isGone || copy.stage !== 'ready') {
      this.absurdities.push(`${command.lease} is for ${command.instance}, which is ${copy?.stage}`)
    }
    if (slot?.visitor !== undefined) this.absurdities.push(`${command.lease} shares a slot`)
    if (visitor === undefined || copy === undefined || slot === undefined) return
    visitor.outcome = 'granted'
    visitor.granted = command
    visitor.grantedAt = this.#now
    slot.visitor = visitor
    this.#holdFor(visitor, copy)
  }

  #giveBack({ lease, instance, slot }: CommandOf<'grant-lease'>): void {
    this.send({ type: 'lease-released', lease, instance, slot, chain: undefined, untouched: true })
  }

  #holdFor(visitor: Visitor, copy: Copy): void {
    const { hold = 1000, manner = 'answers' } = visitor.request
    const crashes = this.#random() < (copy.model.crashing ?? 0)
    this.after(hold, () => {
      if (visitor.outcome !== 'granted') return
      if (crashes) this.machine.crash(copy)
      else this.#finish(visitor, manner)
    })
  }

  #finish(visitor: Visitor, manner: Manner): void {
    const { granted, request } = visitor
    if (granted === undefined) return
    const { lease, instance, slot } = granted
    const chain = manner === 'answers' ? answeredChain(request.chain ?? []) : undefined
    this.#vacate(granted, manner === 'leaves' ? 'untouched' : chain)
    this.#end(visitor, 'done')
    const untouched = manner === 'leaves'
    const release = { type: 'lease-released', lease, instance, slot, chain, untouched } as const
    this.send(release)
    if (request.twice === true) this.after(SMALL_DELAY, () => this.send(release))
  }

  #vacate({ instance, slot }: CommandOf<'grant-lease'>, content: VisitRequest['chain'] | 'untouched'): void {
    const copy = this.copies.get(instance)
    const place = copy?.slots[slot]
    if (copy === undefined || place === undefined) return
    if (content !== 'untouched') place.content = content
    place.visitor = undefined
    copy.lastUsedAt = this.#now
  }

  #cut(command: CommandOf<'cut-lease'>): void {
    for (const visitor of this.visitors.values()) {
      if (visitor.granted?.lease !== command.lease || visitor.outcome !== 'granted') continue
      this.#vacate(visitor.granted, undefined)
      this.#end(visitor, 'cut')
    }
  }

  #refuse(ticket: string, error: SerializedError): void {
    const visitor = this.#waiting(ticket, 'refused')
    if (visitor === undefined) return
    visitor.refusedWith = error
    this.#end(visitor, 'refused')
  }

  #end(visitor: Visitor, outcome: Visitor['outcome']): void {
    visitor.outcome = outcome
    visitor.endedAt = this.#now
  }
}
