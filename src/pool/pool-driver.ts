import type { Clock, Timer } from '../base/clock.ts'
import type { LoadedModel, LoadOptions, LoadPlan } from '../engines/engine.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { HostReading, MemoryProbe } from '../host/memory.ts'
import type { PoolLimits } from './limits.ts'
import type { LoadHistory } from './load-history.ts'
import { LiveInstance } from './live-instance.ts'
import type { ContextShelf } from './context-shelf.ts'
import type { MeasurementStore } from './measurement-store.ts'
import { decide } from './policy/decide.ts'
import type { CommandOf, PoolCommand, PoolEvent, PoolFact } from './policy/messages.ts'
import { emptyState, type PoolState } from './policy/state.ts'
import { isCrowded } from './policy/threads.ts'
import type { Preparation } from './pool-lease.ts'
import { SlotParking } from './slot-parking.ts'
import { StateWatch } from './state-watch.ts'
import { TicketDesk } from './ticket-desk.ts'
import type { TraceRecorder } from './trace-recorder.ts'

export interface PoolOptions {
  clock: Clock
  limits: PoolLimits
  probe: MemoryProbe
  bus: EventBus
  /** Loads a plan with the engine it names. */
  load: (plan: LoadPlan, options: LoadOptions) => Promise<LoadedModel>
  /** Absent: nothing is remembered from one pool to the next. */
  measurements?: MeasurementStore
  /** Absent: load times and demand begin with the pool. */
  history?: LoadHistory
  /** Writes a trace of all that is asked for. */
  recorder?: TraceRecorder
  /** Absent: no context is ever written to disk. */
  contexts?: ContextShelf
}

/** Milliseconds: beyond this a timer of Node rings at once. */
const LONGEST_TIMER = 24 * 3_600_000
/** Milliseconds by which a timer may ring before its time. */
const EARLY = 2

/** Keeps the one state, has each event decided in its turn, and performs what was decided (R1). */
export class PoolDriver {
  readonly desk: TicketDesk
  readonly watch: StateWatch
  readonly #options: PoolOptions
  #state: PoolState
  readonly #events: PoolEvent[] = []
  #isDeciding = false
  #lastAt = 0
  #isCrowded = false
  #alarm: Timer | undefined
  readonly #live = new Map<string, LiveInstance>()
  readonly #parking: SlotParking | undefined

  constructor(options: PoolOptions) {
    this.#options = options
    this.#state = emptyState(options.limits)
    this.watch = new StateWatch(options.clock)
    options.recorder?.begin(options.limits, this.readHost())
    const dispatch = (fact: PoolFact): void => this.dispatch(fact)
    const { clock, contexts: shelf } = options
    const leaseOn = (instance: string, slot: number): string | undefined =>
      this.#state.instances.find(({ id }) => id === instance)?.slots[slot]?.lease?.id
    this.#parking =
      shelf === undefined ? undefined : new SlotParking({ clock, shelf, report: dispatch, leaseOn })
    this.desk = new TicketDesk(dispatch, (instance) => this.#live.get(instance)?.measureSometimes())
  }

  get state(): PoolState {
    return this.#state
  }

  /** Whether an event is being decided: what is dispatched now comes after it. */
  get isDeciding(): boolean {
    return this.#isDeciding
  }

  /** Milliseconds on the pool's clock; never goes back. */
  now(): number {
    this.#lastAt = Math.max(this.#lastAt, this.#options.clock.now())
    return this.#lastAt
  }

  /** One event after the other; `decide` is never entered twice. The fact is the pool's from here on. */
  dispatch(fact: PoolFact): void {
    const stamped = fact as { at: number } & PoolFact
    stamped.at = this.now()
    this.#events.push(stamped)
    if (this.#isDeciding) return
    this.#isDeciding = true
    try {
      for (let event = this.#events.shift(); event !== undefined; event = this.#events.shift()) {
        this.#decide(event)
      }
    } finally {
      this.#isDeciding = false
    }
    this.#shareCores()
    this.watch.look(this.#state)
  }

  /** R17: all are told when a second model begins to compute, before its run does, and when one is alone again. */
  #shareCores(): void {
    const crowded = isCrowded(this.#state)
    if (crowded === this.#isCrowded) return
    this.#isCrowded = crowded
    for (const { loaded } of this.#live.values()) loaded?.shareCores?.(!crowded)
  }

  #decide(event: PoolEvent): void {
    const before = this.#state
    const decision = decide(before, event)
    const { state, commands } = decision
    this.#state = state
    this.#options.recorder?.observe(before, event, decision)
    if (event.type === 'warm-up-finished') this.#keepLoadTime(event.instance)
    for (const command of commands) this.#perform(command)
  }

  #keepLoadTime(id: string): void {
    const instance = this.#state.instances.find((one) => one.id === id)
    const known = instance === undefined ? undefined : this.#state.models.get(instance.model)
    const { key } = known?.model.plan ?? {}
    if (known?.loadTime === undefined || key === undefined || instance?.plan.key !== key) return
    this.#options.history?.noteLoadTime(key, known.model.id, known.loadTime)
  }

  /** Unknown means no: what cannot be read is absent (R5). */
  readHost(): HostReading {
    try {
      return this.#options.probe.read()
    } catch {
      return {}
    }
  }

  /** The living model of an instance, once it is loaded. */
  loadedOf(instance: string): LoadedModel | undefined {
    return this.#live.get(instance)?.loaded
  }

  /** Milliseconds by which the policy's own alarm is late; 0 = all is well, or nothing is due. */
  get alarmDelay(): number {
    return Math.max(0, this.now() - this.#state.alarm)
  }

  /** Nothing more will happen by itself. */
  silence(): void {
    this.#alarm?.cancel()
  }

  #perform(command: PoolCommand): void {
    switch (command.type) {
      case 'grant-lease':
        return this.#grant(command)
      case 'refuse-ticket':
        return this.desk.refuse(command)
      case 'answer-load':
        return this.desk.answer(command)
      case 'cut-lease':
        return this.desk.cut(command)
      case 'park-slot':
        return this.#parkSlot(command)
      case 'remove-context':
        return this.#options.contexts?.remove(command.context)
      case 'announce':
        return this.#options.bus.emit(command.name, command.data)
      case 'set-alarm':
        return this.#setAlarm(command.at)
      case 'measure-host':
        return this.dispatch({ type: 'host-measured', reading: this.readHost() })
      default:
        return this.#performOnInstance(command)
    }
  }

  #performOnInstance(
    command: CommandOf<'start-load' | 'cancel-load' | 'start-warm-up' | 'start-unload'>,
  ): void {
    if (command.type === 'start-load') return this.#startLoad(command)
    const live = this.#live.get(command.instance)
    if (command.type === 'cancel-load') live?.cancel()
    else if (command.type === 'start-warm-up') void live?.warmUp()
    else void live?.unload(command.park)
  }

  #startLoad({ instance, plan }: CommandOf<'start-load'>): void {
    const { clock, load, measurements } = this.#options
    const live = new LiveInstance(instance, plan, {
      clock,
      readHost: () => this.readHost(),
      load,
      report: (fact) => this.#report(instance, fact),
      patience: () => this.#state.limits.memoryGrace,
      parking: this.#parking,
      onMeasured: (measured) => measurements?.write(plan.key, plan.model, measured),
    })
    this.#live.set(instance, live)
    void live.load()
  }

  #report(instance: string, fact: PoolFact): void {
    if (fact.type === 'load-failed' || fact.type === 'memory-returned') this.#live.delete(instance)
    if (fact.type === 'load-finished' && this.#isCrowded) this.loadedOf(instance)?.shareCores?.(false)
    this.dispatch(fact)
  }

  #grant(command: CommandOf<'grant-lease'>): void {
    const loaded = this.#live.get(command.instance)?.loaded
    if (!this.desk.grant(command, loaded, this.#preparation(command, loaded))) return
    const { model, instance, slot, lease, queueMs, loadMs, reason } = command
    this.#keepDemand(model, instance)
    this.#options.bus.emit('lease-granted', { model, instance, slot, lease, queueMs, loadMs, reason })
  }

  #parkSlot({ instance, order }: CommandOf<'park-slot'>): void {
    const loaded = this.#live.get(instance)?.loaded
    // Whoever is gone already is known to have written nothing.
    if (loaded !== undefined) void this.#parking?.parkIdle(loaded, instance, order)
  }

  #keepDemand(model: string, instance: string): void {
    const granted = this.#state.instances.find(({ id }) => id === instance)
    if (granted !== undefined) this.#options.history?.noteDemand(model, granted.asked.count)
  }

  #preparation(command: CommandOf<'grant-lease'>, loaded: LoadedModel | undefined): Preparation | undefined {
    const parking = this.#parking
    const isNeeded = command.park !== undefined || command.restore !== undefined
    if (!isNeeded || parking === undefined || loaded === undefined) return undefined
    return async () => parking.prepare(loaded, command)
  }

  #setAlarm(at: number): void {
    this.#alarm?.cancel()
    const delay = Math.min(at - this.now(), LONGEST_TIMER)
    this.#alarm = this.#options.clock.setTimer(delay, () => this.#ring(at))
  }

  /** Timers ring a little early on some systems, and at once when they are too long: for the policy it is never earlier than it asked for. */
  #ring(at: number): void {
    if (at - this.now() > EARLY) return this.#setAlarm(at)
    this.#lastAt = Math.max(this.#lastAt, at)
    this.dispatch({ type: 'clock-ticked' })
  }
}
