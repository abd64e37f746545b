import type { PoolLimits } from '../limits.ts'
import { decide, type Decision } from '../policy/decide.ts'
import type { PoolCommand, PoolEvent, PoolFact } from '../policy/messages.ts'
import { emptyState, type Charges, type PoolState } from '../policy/state.ts'
import type { Copy } from './copy.ts'
import { EventQueue } from './event-queue.ts'
import { Lobby } from './lobby.ts'
import type { MachineSurroundings } from './machine-surroundings.ts'
import { Machine } from './machine.ts'
import { randomNumbers } from './random.ts'
import { poolModelOf, type SimulatedModel } from './simulated-model.ts'
import type { VisitRequest, Visitor } from './visitor.ts'

export interface WorldOptions {
  limits: PoolLimits
  /** Bytes the machine has per domain. */
  host: Charges
  seed?: number
  decide?: (state: PoolState, event: PoolEvent) => Decision
  /** Visitors are dropped when they have been answered: for days of a million of them. Default false. */
  isForgetful?: boolean
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
  readonly lobby: Lobby
  #now = 0
  #state: PoolState
  #events = 0
  readonly #options: WorldOptions
  readonly #decide: (state: PoolState, event: PoolEvent) => Decision
  readonly #queue = new EventQueue()
  readonly #facts: PoolFact[] = []
  #isDeciding = false
  #alarmAt = Number.POSITIVE_INFINITY

  constructor(options: WorldOptions) {
    this.#options = options
    this.#decide = options.decide ?? decide
    this.#state = emptyState(options.limits)
    const random = randomNumbers(options.seed ?? 1)
    const around: MachineSurroundings = {
      now: () => this.#now,
      after: (delay, action) => this.after(delay, action),
      random,
      report: (fact) => this.send(fact),
    }
    this.machine = new Machine(options.host, around)
    this.lobby = new Lobby(this.machine, around, options.isForgetful)
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

  get visitors(): ReadonlyMap<string, Visitor> {
    return this.lobby.visitors
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
    return this.lobby.request(request)
  }

  /** The visitor leaves at this moment, whatever it is doing. */
  abort(visitor: Visitor): void {
    this.lobby.abort(visitor)
  }

  after(delay: number, action: () => void): void {
    this.#queue.add(this.#now + delay, action)
  }

  /** Lets time pass until `until`, or until `most` things have happened: then it is false, and there is more to run. */
  run(until: number, most: number = Number.POSITIVE_INFINITY): boolean {
    let left = most
    for (let next = this.#queue.nextAt(); next !== undefined && next <= until; next = this.#queue.nextAt()) {
      if (left-- <= 0) return false
      this.#now = Math.max(this.#now, next)
      this.#queue.take()?.()
    }
    this.#now = Math.max(this.#now, until)
    return true
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
    const event = fact as { at: number } & PoolFact
    event.at = this.#now
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
        return this.machine.unload(command.instance, command.park)
      case 'measure-host':
        return this.send({ type: 'host-measured', reading: this.machine.reading() })
      case 'set-alarm':
        return this.#setAlarm(command.at)
      case 'park-slot':
        return this.machine.parkSlot(command.instance, command.order)
      case 'remove-context':
        return this.machine.shelf.remove(command.context)
      case 'announce':
        return
      default:
        return this.lobby.perform(command)
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
}
