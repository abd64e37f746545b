import { abortError, onAbort } from '../base/abort.ts'
import type { StopSignal } from '../base/cancellation.ts'
import { ModelyardError } from '../base/errors.ts'
import type { LoadedModel } from '../engines/engine.ts'
import type { Lease } from './lease.ts'
import type { CommandOf, PoolFact, TicketRequest } from './policy/messages.ts'
import { PoolLease, type LeaseEnd, type LeaseSurroundings, type Preparation } from './pool-lease.ts'

/** Somebody who waits for a ticket to end. */
interface Waiter {
  readonly ticket: TicketRequest
  readonly resolve: (lease: Lease | undefined) => void
  readonly reject: (error: ModelyardError) => void
  unlisten: () => void
}

const nothing = (): void => undefined

/** Where callers wait: turns a ticket's end into the end of a promise, and a lease's end into an event. */
export class TicketDesk {
  readonly #dispatch: (fact: PoolFact) => void
  readonly #onReleased: (instance: string) => void
  readonly #waiters = new Map<string, Waiter>()
  readonly #leases = new Map<string, PoolLease>()
  readonly #leaseSurroundings: LeaseSurroundings = {
    onRelease: (lease, end) => this.#release(lease, end),
    onPrompt: ({ id, instance, slot }, promptTokens) =>
      this.#dispatch({ type: 'prompt-evaluated', lease: id, instance, slot, promptTokens }),
  }
  #count = 0

  constructor(dispatch: (fact: PoolFact) => void, onReleased: (instance: string) => void) {
    this.#dispatch = dispatch
    this.#onReleased = onReleased
  }

  newTicket(model: string, wish: Partial<TicketRequest>): TicketRequest {
    this.#count++
    return {
      id: `ticket-${this.#count}`,
      model,
      wants: wish.wants ?? 'lease',
      chain: wish.chain ?? [],
      priority: wish.priority ?? 'normal',
      keepAlive: wish.keepAlive,
      timeout: wish.timeout,
      immediate: wish.immediate ?? false,
      force: wish.force ?? false,
      within: wish.within,
    }
  }

  /** Hands a ticket in and waits. P3, F14: whatever becomes of it, its listener goes with it. */
  wait<Answer extends Lease | undefined>(
    ticket: TicketRequest,
    signal: StopSignal | undefined,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(abortError(signal))
      // A ticket for a lease is answered with one, a ticket for an instance with nothing: `decide` sees to that.
      const answer = resolve as (lease: Lease | undefined) => void
      const waiter: Waiter = { ticket, resolve: answer, reject, unlisten: nothing }
      this.#waiters.set(ticket.id, waiter)
      this.#dispatch({ type: 'ticket-arrived', ticket })
      if (signal === undefined || !this.#waiters.has(ticket.id)) return
      waiter.unlisten = onAbort(signal, () => this.#abort(ticket, abortError(signal)))
    })
  }

  /** The same for a ticket that is answered at once or not at all. */
  ask(ticket: TicketRequest): Lease | undefined {
    let answer: Lease | undefined
    const resolve = (lease: Lease | undefined): void => {
      answer = lease
    }
    this.#waiters.set(ticket.id, { ticket, resolve, reject: nothing, unlisten: nothing })
    this.#dispatch({ type: 'ticket-arrived', ticket })
    return answer
  }

  #abort(ticket: TicketRequest, error: ModelyardError): void {
    const waiter = this.#take(ticket.id)
    if (waiter === undefined) return
    this.#dispatch({ type: 'ticket-aborted', ticket: ticket.id, model: ticket.model })
    waiter.reject(error)
  }

  #take(ticket: string): Waiter | undefined {
    const waiter = this.#waiters.get(ticket)
    this.#waiters.delete(ticket)
    waiter?.unlisten()
    return waiter
  }

  /** F8: a lease nobody takes goes back in the same step. @returns whether it was taken */
  grant(command: CommandOf<'grant-lease'>, loaded: LoadedModel | undefined, prepare?: Preparation): boolean {
    const waiter = this.#take(command.ticket)
    const { lease: id, instance, slot } = command
    if (waiter === undefined || loaded === undefined) {
      const unused = { chain: undefined, untouched: true, unprepared: true }
      this.#dispatch({ type: 'lease-released', lease: id, instance, slot, ...unused })
      return false
    }
    const lease = new PoolLease(command, loaded, waiter.ticket.chain, prepare, this.#leaseSurroundings)
    this.#leases.set(id, lease)
    waiter.resolve(lease)
    return true
  }

  #release(lease: PoolLease, end: LeaseEnd): void {
    const { id, instance, slot } = lease
    if (!this.#leases.delete(id)) return
    const { chain, untouched, unprepared, usage, keep } = end
    const type = 'lease-released'
    this.#dispatch(
      usage === undefined
        ? { type, lease: id, instance, slot, chain, untouched, unprepared, keep }
        : { type, lease: id, instance, slot, chain, untouched, unprepared, keep, usage },
    )
    this.#onReleased(instance)
  }

  refuse(command: CommandOf<'refuse-ticket'>): void {
    this.#take(command.ticket)?.reject(ModelyardError.fromJSON(command.error))
  }

  answer(command: CommandOf<'answer-load'>): void {
    this.#take(command.ticket)?.resolve(undefined)
  }

  cut(command: CommandOf<'cut-lease'>): void {
    const lease = this.#leases.get(command.lease)
    this.#leases.delete(command.lease)
    lease?.cut(ModelyardError.fromJSON(command.error))
  }
}
