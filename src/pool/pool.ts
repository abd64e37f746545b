import { abortError, onAbort } from '../base/abort.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import type { LoadedModel, LoadOptions, LoadPlan } from '../engines/engine.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { HostReading, MeasuredFootprint, MemoryProbe } from '../host/memory.ts'
import { forecastOf, type LoadForecast } from './forecast.ts'
import type { AcquireRequest, Lease } from './lease.ts'
import type { PoolLimits } from './limits.ts'
import { LiveInstance } from './live-instance.ts'
import type { MeasurementStore } from './measurement-store.ts'
import { decide } from './policy/decide.ts'
import type { CommandOf, PoolCommand, PoolEvent, PoolFact, TicketRequest } from './policy/messages.ts'
import { unknownModel } from './policy/refusals.ts'
import { emptyState, type ModelState, type PoolState } from './policy/state.ts'
import { isServing } from './policy/waiting.ts'
import { PoolLease, type LeaseEnd } from './pool-lease.ts'
import type { PoolModel } from './pool-model.ts'
import type { PoolStatus } from './pool-status.ts'
import { statusOf } from './status.ts'

export interface PoolOptions {
  clock: Clock
  limits: PoolLimits
  probe: MemoryProbe
  bus: EventBus
  /** Loads a plan with the engine it names. */
  load: (plan: LoadPlan, options: LoadOptions) => Promise<LoadedModel>
  /** Absent: nothing is remembered from one pool to the next. */
  measurements?: MeasurementStore
}

export interface LoadRequest {
  /** Milliseconds; overrides the model's own for this instance. */
  keepAlive?: number
  signal?: AbortSignal
  /** May go beyond the budget, up to the absolute limit (M5). */
  force?: boolean
}

/** Somebody who waits for a ticket to end. */
interface Waiter {
  readonly request: TicketRequest
  readonly resolve: (lease: Lease | undefined) => void
  readonly reject: (error: ModelyardError) => void
  unlisten: () => void
}

/** Somebody who waits for the pool to come into some state. `check` says true, not yet, or why never. */
interface Watcher {
  readonly check: (state: PoolState) => boolean | ModelyardError
  readonly resolve: () => void
  readonly reject: (error: ModelyardError) => void
}

/** Milliseconds a stop waits for processes beyond the moment at which all leases are cut. */
const STOP_MARGIN = 15_000

/**
 * The pool: who is in memory, who runs, who waits. A thin shell around `decide` (R1): it turns calls into events, performs what is
 * decided, and reports back what came of it.
 */
export class Pool implements AsyncDisposable {
  readonly #options: PoolOptions
  #state: PoolState
  readonly #events: PoolEvent[] = []
  #isDeciding = false
  #lastAt = 0
  #tickets = 0
  #alarm: Timer | undefined
  readonly #waiters = new Map<string, Waiter>()
  readonly #watchers = new Set<Watcher>()
  readonly #leases = new Map<string, PoolLease>()
  readonly #live = new Map<string, LiveInstance>()

  constructor(options: PoolOptions) {
    this.#options = options
    this.#state = emptyState(options.limits)
  }

  /** Makes a model known, or describes it anew. Copies made after another plan serve their runs and go. */
  declare(model: PoolModel): void {
    const learned = this.#options.measurements?.read(model.plan.key)
    this.#dispatch({ type: 'model-declared', model, learned })
  }

  /** The model is gone: those who wait for it get `model_not_found`, its copies go when they are idle. */
  withdraw(id: string): void {
    this.#dispatch({ type: 'model-withdrawn', model: id })
  }

  /**
   * Waits for the right to use a slot.
   * @throws ModelyardError `aborted` (or the signal's own), `timeout`, `queue_full`, `model_not_found`, `model_too_large`,
   *   `insufficient_memory`, `model_load_failed` and the engine's own, `shutting_down`
   */
  acquire(request: AcquireRequest): Promise<Lease> {
    const ticket = this.#newTicket(request.model, {
      chain: request.fingerprint ?? [],
      priority: request.priority ?? 'normal',
      keepAlive: request.keepAlive,
      timeout: request.timeout,
    })
    return this.#await<Lease>(ticket, request.signal)
  }

  /** A lease if one is to be had at this moment without passing anybody; never waits, never loads. */
  tryAcquire(request: AcquireRequest): Lease | undefined {
    if (this.#isDeciding || request.signal?.aborted === true) return undefined
    const ticket = this.#newTicket(request.model, {
      chain: request.fingerprint ?? [],
      priority: request.priority ?? 'normal',
      keepAlive: request.keepAlive,
      immediate: true,
    })
    let granted: Lease | undefined
    const resolve = (lease: Lease | undefined): void => {
      granted = lease
    }
    this.#waiters.set(ticket.id, {
      request: ticket,
      resolve,
      reject: () => undefined,
      unlisten: () => undefined,
    })
    this.#dispatch({ type: 'ticket-arrived', ticket })
    return granted
  }

  /** Resolves when a copy of the model is ready, loading one if need be. @throws as {@link acquire} */
  async load(model: string, request: LoadRequest = {}): Promise<void> {
    const { keepAlive, force = false } = request
    const ticket = this.#newTicket(model, { wants: 'instance', keepAlive, force })
    await this.#await<undefined>(ticket, request.signal)
  }

  /**
   * Unloads a model's copies, or one instance. Runs may end within `drainTimeout`; `force` cuts them at once. Resolves when the memory
   * is seen back. @throws ModelyardError `model_not_found` for what is neither
   */
  async unload(modelOrInstance: string, options: { force?: boolean } = {}): Promise<void> {
    const isInstance = this.#state.instances.some(({ id }) => id === modelOrInstance)
    if (!isInstance) this.#modelState(modelOrInstance)
    const meant = this.#state.instances
      .filter(({ id, model }) => (isInstance ? id : model) === modelOrInstance)
      .map(({ id }) => id)
    this.#dispatch({
      type: 'unload-requested',
      model: isInstance ? undefined : modelOrInstance,
      instance: isInstance ? modelOrInstance : undefined,
      force: options.force ?? false,
    })
    await this.#until(({ instances }) => !instances.some(({ id }) => meant.includes(id)))
  }

  setLimits(limits: PoolLimits): void {
    this.#dispatch({ type: 'limits-changed', limits })
  }

  status(): PoolStatus {
    const pidOf = (instance: string): number | undefined => this.#live.get(instance)?.loaded?.pid
    return statusOf(this.#state, this.#now(), { pidOf })
  }

  /** What loading the model would do now. @throws ModelyardError `model_not_found` */
  forecast(model: string): LoadForecast {
    return forecastOf(this.#state, this.#modelState(model), this.#now(), this.#readHost())
  }

  /** Whether a copy of the model is in memory or on its way there. */
  isResident(model: string): boolean {
    return this.#state.instances.some((instance) => instance.model === model && isServing(instance))
  }

  /**
   * Resolves when the model has as many ready copies as `minInstances` asks for, at least one; loads nothing itself.
   * @throws what its last load failed with, `model_not_found`, `shutting_down`
   */
  async ready(model: string): Promise<void> {
    this.#modelState(model)
    await this.#until((state) => this.#isReady(state, model))
  }

  /** Answers everybody who waits, lets runs end until `deadline` milliseconds from now (default `drainTimeout`), then cuts them. Always ends. */
  async stop(options: { deadline?: number } = {}): Promise<void> {
    const deadline = options.deadline ?? this.#state.limits.drainTimeout
    this.#dispatch({ type: 'stop-requested', deadline })
    const isEmpty = (state: PoolState): boolean => state.instances.length === 0
    await this.#until(isEmpty, deadline + STOP_MARGIN)
    this.#alarm?.cancel()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  #modelState(id: string): ModelState {
    const model = this.#state.models.get(id)
    if (model !== undefined) return model
    throw ModelyardError.fromJSON(unknownModel(id, this.#state.models.keys()))
  }

  #isReady(state: PoolState, id: string): boolean | ModelyardError {
    const model = state.models.get(id)
    if (state.stopping !== undefined) return new ModelyardError('shutting_down', 'The yard is shutting down.')
    if (model === undefined) return ModelyardError.fromJSON(unknownModel(id, state.models.keys()))
    const copies = state.instances.filter(({ model: of, state: stage }) => of === id && stage === 'ready')
    if (copies.length >= Math.max(1, model.model.minInstances)) return true
    return model.lastError === undefined || isOnItsWay(state, id)
      ? false
      : ModelyardError.fromJSON(model.lastError)
  }

  #newTicket(model: string, wish: Partial<TicketRequest>): TicketRequest {
    this.#tickets++
    return {
      id: `ticket-${this.#tickets}`,
      model,
      wants: wish.wants ?? 'lease',
      chain: wish.chain ?? [],
      priority: wish.priority ?? 'normal',
      keepAlive: wish.keepAlive,
      timeout: wish.timeout,
      immediate: wish.immediate ?? false,
      force: wish.force ?? false,
    }
  }

  /** P3, F14: whatever becomes of the ticket, its listener goes with it. */
  #await<Answer extends Lease | undefined>(
    ticket: TicketRequest,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(abortError(signal))
      // A ticket for a lease is answered with one, a ticket for an instance with nothing: `decide` sees to that.
      const answer = resolve as (lease: Lease | undefined) => void
      const waiter: Waiter = { request: ticket, resolve: answer, reject, unlisten: () => undefined }
      this.#waiters.set(ticket.id, waiter)
      this.#dispatch({ type: 'ticket-arrived', ticket })
      if (signal === undefined || !this.#waiters.has(ticket.id)) return
      waiter.unlisten = onAbort(signal, () => this.#abort(ticket, abortError(signal)))
    })
  }

  #abort(ticket: TicketRequest, error: ModelyardError): void {
    const waiter = this.#takeWaiter(ticket.id)
    if (waiter === undefined) return
    this.#dispatch({ type: 'ticket-aborted', ticket: ticket.id, model: ticket.model })
    waiter.reject(error)
  }

  #takeWaiter(ticket: string): Waiter | undefined {
    const waiter = this.#waiters.get(ticket)
    this.#waiters.delete(ticket)
    waiter?.unlisten()
    return waiter
  }

  async #until(check: Watcher['check'], patience?: number): Promise<void> {
    const now = check(this.#state)
    if (now === true) return
    if (now !== false) throw now
    let timer: Timer | undefined
    await new Promise<void>((resolve, reject) => {
      const watcher: Watcher = { check, resolve, reject }
      this.#watchers.add(watcher)
      if (patience === undefined) return
      timer = this.#options.clock.setTimer(patience, () => this.#endWatch(watcher, true))
    })
    timer?.cancel()
  }

  #endWatch(watcher: Watcher, outcome: true | ModelyardError): void {
    this.#watchers.delete(watcher)
    if (outcome === true) watcher.resolve()
    else watcher.reject(outcome)
  }

  #now(): number {
    this.#lastAt = Math.max(this.#lastAt, this.#options.clock.now())
    return this.#lastAt
  }

  /** R1: one event after the other; what happens while one is decided comes after it. */
  #dispatch(fact: PoolFact): void {
    this.#events.push({ ...fact, at: this.#now() })
    if (this.#isDeciding) return
    this.#isDeciding = true
    try {
      for (let event = this.#events.shift(); event !== undefined; event = this.#events.shift()) {
        this.#decide(event)
      }
    } finally {
      this.#isDeciding = false
    }
    if (this.#watchers.size > 0) this.#look()
  }

  #decide(event: PoolEvent): void {
    const { state, commands } = decide(this.#state, event)
    this.#state = state
    for (const command of commands) this.#perform(command)
  }

  #look(): void {
    for (const watcher of this.#watchers) {
      const outcome = watcher.check(this.#state)
      if (outcome !== false) this.#endWatch(watcher, outcome)
    }
  }

  #perform(command: PoolCommand): void {
    switch (command.type) {
      case 'grant-lease':
        return this.#grant(command)
      case 'refuse-ticket':
        return this.#takeWaiter(command.ticket)?.reject(ModelyardError.fromJSON(command.error))
      case 'answer-load':
        return this.#takeWaiter(command.ticket)?.resolve(undefined)
      case 'cut-lease':
        return this.#cut(command)
      case 'announce':
        return this.#options.bus.emit(command.name, command.data)
      case 'set-alarm':
        return this.#setAlarm(command.at)
      case 'measure-host':
        return this.#dispatch({ type: 'host-measured', reading: this.#readHost() })
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
    else void live?.unload()
  }

  #startLoad(command: CommandOf<'start-load'>): void {
    const { clock, probe, load } = this.#options
    const live = new LiveInstance(command.instance, command.plan, {
      clock,
      probe,
      load,
      report: (fact) => this.#report(command.instance, fact),
      patience: () => this.#state.limits.memoryGrace,
      onMeasured: (plan, measured) => this.#remember(plan, measured),
    })
    this.#live.set(command.instance, live)
    void live.load()
  }

  #report(instance: string, fact: PoolFact): void {
    if (fact.type === 'load-failed' || fact.type === 'memory-returned') this.#live.delete(instance)
    this.#dispatch(fact)
  }

  #remember(plan: LoadPlan, measured: MeasuredFootprint): void {
    this.#options.measurements?.write(plan.key, plan.model, measured)
  }

  /** F8: a lease nobody takes goes back in the same step. */
  #grant(command: CommandOf<'grant-lease'>): void {
    const loaded = this.#live.get(command.instance)?.loaded
    const waiter = this.#takeWaiter(command.ticket)
    const { lease: id, instance, slot } = command
    if (waiter === undefined || loaded === undefined) {
      this.#dispatch({ type: 'lease-released', lease: id, instance, slot, chain: undefined, untouched: true })
      return
    }
    const onRelease = (released: PoolLease, end: LeaseEnd): void => this.#release(released, end)
    const lease = new PoolLease(command, loaded, waiter.request.chain, onRelease)
    this.#leases.set(id, lease)
    const { model, queueMs, loadMs, reason } = command
    this.#options.bus.emit('lease-granted', { model, instance, slot, lease: id, queueMs, loadMs, reason })
    waiter.resolve(lease)
  }

  #release(lease: PoolLease, end: LeaseEnd): void {
    this.#leases.delete(lease.id)
    const { id, instance, slot } = lease
    this.#dispatch({ type: 'lease-released', lease: id, instance, slot, ...end })
    this.#live.get(instance)?.measureSometimes()
  }

  #cut(command: CommandOf<'cut-lease'>): void {
    const lease = this.#leases.get(command.lease)
    this.#leases.delete(command.lease)
    lease?.cut(ModelyardError.fromJSON(command.error))
  }

  /** The timer may ring a little early on some systems; for the policy it is never earlier than it asked for. */
  #setAlarm(at: number): void {
    this.#alarm?.cancel()
    this.#alarm = this.#options.clock.setTimer(at - this.#now(), () => {
      this.#lastAt = Math.max(this.#lastAt, at)
      this.#dispatch({ type: 'clock-ticked' })
    })
  }

  /** Unknown means no: what cannot be read is absent (R5). */
  #readHost(): HostReading {
    try {
      return this.#options.probe.read()
    } catch {
      return {}
    }
  }
}

function isOnItsWay(state: PoolState, id: string): boolean {
  return (
    state.queues.some(({ model }) => model === id) ||
    state.instances.some((instance) => instance.model === id && isServing(instance))
  )
}
