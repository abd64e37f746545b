import { ModelyardError } from '../base/errors.ts'
import { findKept, listContexts, type ContextListing } from './context-listing.ts'
import type { LoadedModel } from '../engines/engine.ts'
import { forecastOf, refusalOf, type LoadForecast } from './forecast.ts'
import type { AcquireRequest, Lease } from './lease.ts'
import type { PoolLimits } from './limits.ts'
import type { ParkOrder, TicketRequest } from './policy/messages.ts'
import { unknownModel } from './policy/refusals.ts'
import type { ModelState, ParkedContext, PoolState } from './policy/state.ts'
import type { Fingerprint } from '../tasks/fingerprint.ts'
import { isServing } from './policy/waiting.ts'
import { PoolDriver, type PoolOptions } from './pool-driver.ts'
import type { PoolModel } from './pool-model.ts'
import type { PoolStatus } from './pool-status.ts'
import { readiness } from './readiness.ts'
import { queueStatus, statusOf } from './status.ts'

export type { PoolOptions } from './pool-driver.ts'

export interface LoadRequest {
  /** Milliseconds; overrides the model's own for this instance. */
  keepAlive?: number
  signal?: AbortSignal
  /** May go beyond the budget, up to the absolute limit (M5). */
  force?: boolean
}

/** A parked context as it was found. */
export interface AdoptedContext extends Omit<ParkOrder, 'slot' | 'context'> {
  id: string
  /** On disk, with all that belongs to it. */
  bytes: number
  /** Milliseconds since it was parked. */
  age: number
}

/** Milliseconds a stop waits for processes beyond the moment at which all leases are cut. */
const STOP_MARGIN = 15_000

/**
 * The pool: who is in memory, who runs, who waits. A thin shell: calls become events, `decide` decides, what it orders is performed, and
 * what comes of that is reported back.
 */
export class Pool implements AsyncDisposable {
  readonly #options: PoolOptions
  readonly #driver: PoolDriver

  constructor(options: PoolOptions) {
    this.#options = options
    this.#driver = new PoolDriver(options)
  }

  /** Makes a model known, or describes it anew. Copies made after another plan serve their runs and go. */
  declare(model: PoolModel): void {
    const { measurements, history } = this.#options
    const learned = measurements?.read(model.plan.key)
    const loadTime = history?.loadTime(model.plan.key)
    const demand = history?.demand(model.id)
    const asked =
      demand === undefined ? undefined : { count: demand.count, at: this.#driver.now() - demand.age }
    this.#driver.dispatch({ type: 'model-declared', model, learned, loadTime, asked })
  }

  /** What earlier servers parked, and what the disk has room for. Once, before anybody asks for anything. */
  adoptContexts(contexts: readonly AdoptedContext[], room: number): void {
    const at = this.#driver.now()
    const found = contexts.map(({ age, ...context }) => ({
      ...context,
      usedAt: at - age,
      orderedAt: at - age,
      isKept: context.isKept === true,
    }))
    this.#driver.dispatch({ type: 'contexts-found', contexts: found, room })
  }

  /** What is parked on disk, the last used first. */
  contexts(): ContextListing[] {
    return listContexts(this.#driver.state, this.#driver.now())
  }

  /** Whether a beginning that was evaluated for its own sake is on disk, as soon as it is known; `lost`: it was to be written and was not. */
  async keptBeginning(model: string, chain: Fingerprint): Promise<'kept' | 'lost' | 'none'> {
    const find = (state: PoolState): ParkedContext | undefined => findKept(state, model, chain)
    if (find(this.#driver.state) === undefined) return 'none'
    await this.#until((state) => find(state)?.writer === undefined)
    return find(this.#driver.state) === undefined ? 'lost' : 'kept'
  }

  /** Deletes parked contexts: those named, or all of a model, or all. @returns how many went */
  removeContexts({ ids, model }: { ids?: readonly string[]; model?: string }): number {
    const before = this.#driver.state.contexts.parked.length
    this.#driver.dispatch({ type: 'contexts-unwanted', contexts: ids, model })
    return before - this.#driver.state.contexts.parked.length
  }

  /** The model is gone: those who wait for it get `model_not_found`, its copies go when they are idle. */
  withdraw(id: string): void {
    this.#driver.dispatch({ type: 'model-withdrawn', model: id })
  }

  /**
   * Waits for the right to use a slot.
   * @throws ModelyardError `aborted` (or the signal's own), `timeout`, `queue_full`, `model_not_found`, `model_too_large`,
   *   `insufficient_memory`, `model_load_failed` and the engine's own, `shutting_down`
   */
  acquire(request: AcquireRequest): Promise<Lease> {
    const { timeout, signal, onTicket } = request
    const ticket = this.#ticketFor(request, { timeout })
    onTicket?.(ticket.id)
    return this.#driver.desk.wait<Lease>(ticket, signal)
  }

  /** What a ticket that waits is waiting for, and its place among those of its model, 1 being the next; undefined when it waits no more. */
  waitOf(ticket: string): { place: number; reason: string } | undefined {
    const waiting = queueStatus(this.#driver.state, this.#driver.now()).find(({ id }) => id === ticket)
    return waiting === undefined ? undefined : { place: waiting.position + 1, reason: waiting.reason }
  }

  /** A lease if one is to be had at this moment without passing anybody; never waits, never loads. */
  tryAcquire(request: AcquireRequest): Lease | undefined {
    // While a decision is being made nothing can be answered at once.
    if (this.#driver.isDeciding || request.signal?.aborted === true) return undefined
    return this.#driver.desk.ask(this.#ticketFor(request, { immediate: true }))
  }

  #ticketFor(request: AcquireRequest, wish: Partial<TicketRequest>): TicketRequest {
    const { model, fingerprint: chain = [], priority = 'normal', keepAlive } = request
    const within = request.within?.instance
    return this.#driver.desk.newTicket(model, { chain, priority, keepAlive, within, ...wish })
  }

  /** Resolves when a copy of the model is ready, loading one if need be. @throws as {@link acquire} */
  async load(model: string, request: LoadRequest = {}): Promise<void> {
    const { keepAlive, force = false, signal } = request
    const ticket = this.#driver.desk.newTicket(model, { wants: 'instance', keepAlive, force })
    await this.#driver.desk.wait<undefined>(ticket, signal)
  }

  /**
   * Unloads a model's copies, or one instance. Runs may end within `drainTimeout`; `force` cuts them at once. Whoever waits for the model
   * has it loaded again. Resolves when the memory is seen back. @throws ModelyardError `model_not_found` for what is neither
   */
  async unload(modelOrInstance: string, options: { force?: boolean } = {}): Promise<void> {
    const { force = false } = options
    const isInstance = this.#driver.state.instances.some(({ id }) => id === modelOrInstance)
    if (!isInstance) this.#modelState(modelOrInstance)
    const meant = this.#driver.state.instances
      .filter(({ id, model }) => (isInstance ? id : model) === modelOrInstance)
      .map(({ id }) => id)
    const [model, instance] = isInstance ? [undefined, modelOrInstance] : [modelOrInstance, undefined]
    this.#driver.dispatch({ type: 'unload-requested', model, instance, force })
    await this.#until(({ instances }) => !instances.some(({ id }) => meant.includes(id)))
  }

  /** Those that hold now. */
  get limits(): PoolLimits {
    return this.#driver.state.limits
  }

  setLimits(limits: PoolLimits): void {
    this.#driver.dispatch({ type: 'limits-changed', limits })
  }

  /** The living model of an instance, once it is loaded. */
  loadedOf(instance: string): LoadedModel | undefined {
    return this.#driver.loadedOf(instance)
  }

  /** Milliseconds by which the next look at those who wait is late: a scheduler that stands still shows here. */
  get schedulerDelay(): number {
    return this.#driver.alarmDelay
  }

  status(): PoolStatus {
    return statusOf(
      this.#driver.state,
      this.#driver.now(),
      (instance) => this.#driver.loadedOf(instance)?.pid,
    )
  }

  /** What loading the model would do now. @throws ModelyardError `model_not_found` */
  forecast(model: string): LoadForecast {
    const { state } = this.#driver
    return forecastOf(state, this.#modelState(model), this.#driver.now(), this.#driver.readHost())
  }

  /** Why a model described like this could not be loaded whoever went for it (R6); undefined = it could. Nothing changes. */
  refusalOf(model: PoolModel, force = false): ModelyardError | undefined {
    const learned = this.#options.measurements?.read(model.plan.key)
    const refusal = refusalOf(this.#driver.state, { model, learned, force }, this.#driver.now())
    return refusal === undefined ? undefined : ModelyardError.fromJSON(refusal)
  }

  /** Whether a copy of the model is there in whatever state, or somebody waits for one. */
  isUsed(model: string): boolean {
    const { instances, queues } = this.#driver.state
    return instances.some((one) => one.model === model) || queues.some((queue) => queue.model === model)
  }

  /** Whether a copy of the model is in memory or on its way there. */
  isResident(model: string): boolean {
    return this.#driver.state.instances.some((instance) => instance.model === model && isServing(instance))
  }

  /**
   * Resolves when the model has as many ready copies as `minInstances` asks for, at least one; loads nothing itself.
   * @throws what its last load failed with, `model_not_found`, `shutting_down`
   */
  async ready(model: string): Promise<void> {
    this.#modelState(model)
    await this.#until((state) => readiness(state, model))
  }

  /** Answers everybody who waits, lets runs end until `deadline` milliseconds from now (default `drainTimeout`), then cuts them. Always ends. */
  async stop(options: { deadline?: number } = {}): Promise<void> {
    const deadline = options.deadline ?? this.#driver.state.limits.drainTimeout
    this.#driver.dispatch({ type: 'stop-requested', deadline })
    await this.#until(({ instances }) => instances.length === 0, deadline + STOP_MARGIN)
    this.#driver.silence()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #until(check: (state: PoolState) => boolean | ModelyardError, patience?: number): Promise<void> {
    await this.#driver.watch.until(this.#driver.state, check, patience)
  }

  #modelState(id: string): ModelState {
    const { models } = this.#driver.state
    const model = models.get(id)
    if (model !== undefined) return model
    throw ModelyardError.fromJSON(unknownModel(id, models.keys()))
  }
}
