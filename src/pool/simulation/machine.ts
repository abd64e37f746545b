import type { SerializedError } from '../../base/errors.ts'
import type { HostReading, MemoryDomain } from '../../host/memory.ts'
import type { MachineSurroundings } from './machine-surroundings.ts'
import { SimulatedShelf, writingTime } from './simulated-shelf.ts'
import type { CommandOf, ParkOrder } from '../policy/messages.ts'
import type { Charges } from '../policy/state.ts'
import { measure, newCopy, realPrivate, type Copy } from './copy.ts'
import type { SimulatedModel } from './simulated-model.ts'

/** Milliseconds between a process's end and the moment its memory is seen back, and the like. */
export const SMALL_DELAY = 5

/** A simulated machine: its memory and the copies in it, as they really are. It does what it is told, not always as hoped. */
export class Machine {
  readonly copies: Map<string, Copy> = new Map()
  readonly models: Map<string, SimulatedModel> = new Map()
  readonly shelf: SimulatedShelf
  readonly #memory: Charges
  readonly #foreign: Charges = {}
  readonly #around: MachineSurroundings

  constructor(memory: Charges, around: MachineSurroundings) {
    this.#memory = memory
    this.#around = around
    this.shelf = new SimulatedShelf(around)
  }

  /** Other programs take this much. */
  setForeign(domain: MemoryDomain, bytes: number): void {
    this.#foreign[domain] = bytes
  }

  /** Bytes free in a domain, as any program would see them. */
  available(domain: MemoryDomain): number {
    let taken = this.#foreign[domain] ?? 0
    const shared = new Map<string, number>()
    for (const copy of this.copies.values()) {
      taken += realPrivate(copy, domain)
      if (copy.loadedAt === undefined) continue
      const { sharedWeights: weights, programBytes = 0 } = copy.plan
      if (weights?.domain === domain) shared.set(weights.key, weights.bytes)
      if (domain === 'ram') shared.set('program', Math.max(programBytes, shared.get('program') ?? 0))
    }
    for (const bytes of shared.values()) taken += bytes
    return Math.max(0, (this.#memory[domain] ?? 0) - taken)
  }

  reading(): HostReading {
    const reading: HostReading = {}
    for (const domain of Object.keys(this.#memory) as MemoryDomain[]) {
      const total = this.#memory[domain] ?? 0
      reading[domain] = { total, available: this.available(domain), source: 'simulated' }
    }
    return reading
  }

  startLoad({ instance, plan }: CommandOf<'start-load'>): void {
    const model = this.models.get(plan.model) ?? { id: plan.model, footprint: plan.footprint }
    const copy = newCopy(instance, plan, model, this.#around.now())
    this.copies.set(instance, copy)
    const loadTime = model.loadTime ?? 100
    const fails = this.#around.random() < (model.failing ?? 0)
    this.#around.after(loadTime / 2, () => this.#progress(copy))
    this.#around.after(loadTime, () => (fails ? this.#fail(copy, 'crash') : this.#load(copy)))
  }

  #progress(copy: Copy): void {
    if (!copy.isGone) this.#around.report({ type: 'load-progressed', instance: copy.id, fraction: 0.5 })
  }

  #load(copy: Copy): void {
    if (copy.isGone) return
    copy.stage = 'loaded'
    copy.loadedAt = this.#around.now()
    const identity =
      copy.model.parks === true
        ? { stateIdentity: copy.plan.key, savesWhileAnswering: copy.model.savesWhileAnswering === true }
        : {}
    this.#around.report({ type: 'load-finished', instance: copy.id, ...identity })
  }

  #fail(copy: Copy, failure: 'crash' | 'aborted'): void {
    if (copy.isGone || copy.stage !== 'loading') return
    copy.isGone = true
    this.copies.delete(copy.id)
    const error: SerializedError = { code: 'model_load_failed', message: 'It did not load.', details: {} }
    this.#around.report({ type: 'load-failed', instance: copy.id, error, failure, logTail: [] })
  }

  /** Some loads come through although they were cancelled. */
  cancelLoad(instance: string): void {
    const copy = this.copies.get(instance)
    if (copy === undefined) return
    copy.isCancelled = true
    if (this.#around.random() >= 0.3) this.#around.after(SMALL_DELAY, () => this.#fail(copy, 'aborted'))
  }

  warmUp(instance: string): void {
    const copy = this.copies.get(instance)
    if (copy === undefined || copy.isGone) return
    copy.stage = 'warming'
    this.#around.after(copy.model.warmUpTime ?? 10, () => {
      if (copy.isGone || copy.stage !== 'warming') return
      copy.stage = 'ready'
      copy.readyAt = this.#around.now()
      copy.lastUsedAt = copy.readyAt
      this.#around.report({ type: 'warm-up-finished', instance, measured: measure(copy) })
    })
  }

  parkSlot(instance: string, order: ParkOrder): void {
    const copy = this.copies.get(instance)
    if (copy !== undefined) this.shelf.park(copy, order)
  }

  unload(instance: string, park: readonly ParkOrder[] = []): void {
    const copy = this.copies.get(instance)
    if (copy === undefined || copy.isGone || copy.stage === 'leaving') return
    for (const order of park) this.shelf.park(copy, order)
    copy.stage = 'leaving'
    const { unloadTime = 20, bytesPerToken } = copy.model
    // Where the size of contexts is known, the copy goes when they are written.
    const written = bytesPerToken === undefined ? [] : park.map(({ tokens }) => writingTime(copy, tokens))
    this.#around.after(Math.max(0, ...written) + unloadTime, () => {
      if (!copy.isGone) this.#exit(copy, 'unloaded')
    })
  }

  /** The worker dies. */
  crash(copy: Copy): void {
    if (!copy.isGone && copy.loadedAt !== undefined) this.#exit(copy, 'signal SIGSEGV')
  }

  #exit(copy: Copy, reason: string): void {
    copy.isGone = true
    this.#around.report({ type: 'instance-exited', instance: copy.id, reason, logTail: [] })
    this.#around.after(SMALL_DELAY, () => {
      this.copies.delete(copy.id)
      this.#around.report({ type: 'memory-returned', instance: copy.id, released: 0, leaked: 0 })
    })
  }

  /** It takes more (or less) than before, and is measured. */
  grow(copy: Copy, reality: number): void {
    copy.reality = reality
    if (copy.stage !== 'ready') return
    this.#around.report({ type: 'instance-measured', instance: copy.id, measured: measure(copy) })
  }
}
