import { ModelyardError, toModelyardError } from '../base/errors.ts'
import { waitAtMost, type Clock } from '../base/clock.ts'
import type { LoadedModel, SavedSlot } from '../engines/engine.ts'
import type { ContextShelf } from './context-shelf.ts'
import type { CommandOf, ParkOrder, PoolFact } from './policy/messages.ts'
import type { Prepared } from './pool-lease.ts'

/** Milliseconds that an unload waits for contexts to be written; what is not written by then is lost. */
const UNLOAD_PATIENCE = 10_000

export interface ParkingSurroundings {
  readonly clock: Clock
  readonly shelf: ContextShelf
  readonly report: (fact: PoolFact) => void
  /** The lease that is held on the slot at this moment. */
  readonly leaseOn: (instance: string, slot: number) => string | undefined
}

/** Writes and reads the slots of loaded models as the policy orders, and reports what came of it. Its methods never reject. */
export class SlotParking {
  readonly #around: ParkingSurroundings

  constructor(around: ParkingSurroundings) {
    this.#around = around
  }

  /** Before an unload. Whatever order is not through in time is reported as failed when the engine ends. */
  async parkAll(loaded: LoadedModel, orders: readonly ParkOrder[]): Promise<void> {
    const parking = (async () => {
      for (const order of orders) await this.#park(loaded, order)
    })()
    await waitAtMost(this.#around.clock, UNLOAD_PATIENCE, parking)
  }

  /** A slot that nobody uses at this moment. */
  async parkIdle(loaded: LoadedModel, instance: string, order: ParkOrder): Promise<void> {
    await this.#park(loaded, order, { instance })
  }

  /** What comes before a run. What is to be read is checked while the slot is still being written: then it does not add to the wait. */
  async prepare(
    loaded: LoadedModel,
    { park = [], restore, instance, slot, lease }: CommandOf<'grant-lease'>,
  ): Promise<Prepared> {
    const isThere = !park.some(({ context }) => context === restore)
    const checked = restore !== undefined && isThere ? this.#check(loaded, restore) : undefined
    for (const order of park) await this.#park(loaded, order, { instance, slot })
    if (restore === undefined) return { holds: true, readIn: 0 }
    const { clock, report } = this.#around
    const begun = clock.now()
    const isRestored = await this.#read(
      loaded,
      slot,
      restore,
      await (checked ?? this.#check(loaded, restore)),
    )
    const took = clock.now() - begun
    report({ type: 'restore-finished', context: restore, instance, slot, lease, isRestored, took })
    return { holds: isRestored, readIn: took }
  }

  async #park(
    loaded: LoadedModel,
    order: ParkOrder,
    own?: { instance: string; slot?: number },
  ): Promise<void> {
    const { clock, shelf, report, leaseOn } = this.#around
    const { context } = order
    const begun = clock.now()
    try {
      const { bytes, placed, settled } = await shelf.park(order, async (path) => {
        // Somebody else's slot may have been given away since: what it holds now is not what this file is to be named after.
        const lease =
          own === undefined || own.slot === order.slot ? undefined : leaseOn(own.instance, order.slot)
        if (lease !== undefined && lease !== order.lease)
          throw new ModelyardError('internal', 'the slot it was to be copied from is in use again.')
        return await save(loaded, order.slot, path)
      })
      report({ type: 'park-finished', context, bytes, took: clock.now() - begun })
      placed.catch((thrown: unknown) => this.#reportFailure(context, thrown))
      settled.then(
        () => report({ type: 'park-settled', context }),
        // What can be read is of use as long as this server lives.
        () => undefined,
      )
      void this.#measureRoom()
    } catch (thrown) {
      this.#reportFailure(context, thrown)
    }
  }

  #reportFailure(context: string, thrown: unknown): void {
    this.#around.report({ type: 'park-failed', context, reason: toModelyardError(thrown).message })
  }

  /** Nobody waits for it. */
  async #measureRoom(): Promise<void> {
    const { shelf, report } = this.#around
    report({ type: 'context-room-measured', room: await shelf.room() })
  }

  /** Undefined = the engine tells when it reads. Never rejects. */
  async #check(loaded: LoadedModel, context: string): Promise<boolean | undefined> {
    try {
      const path = await this.#around.shelf.placeOf(context)
      return await loaded.checkSlotFile?.(path)
    } catch {
      return false
    }
  }

  /** Any doubt is a no: a failing worker is seen by its exit, and a run on an empty slot is right. */
  async #read(
    loaded: LoadedModel,
    slot: number,
    context: string,
    isWhole: boolean | undefined,
  ): Promise<boolean> {
    try {
      const path = await this.#around.shelf.placeOf(context)
      return (await loaded.restoreSlot?.(slot, path, isWhole)) ?? false
    } catch {
      return false
    }
  }
}

async function save(loaded: LoadedModel, slot: number, path: string): Promise<SavedSlot> {
  if (loaded.saveSlot === undefined) throw new ModelyardError('unsupported', 'the engine saves no slots.')
  return await loaded.saveSlot(slot, path)
}
