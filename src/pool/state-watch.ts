import type { Clock, Timer } from '../base/clock.ts'
import type { ModelyardError } from '../base/errors.ts'
import type { PoolState } from './policy/state.ts'

/** True: it is so; false: not yet; an error: it will not be. */
export type Check = (state: PoolState) => boolean | ModelyardError

interface Watcher {
  readonly check: Check
  readonly resolve: () => void
  readonly reject: (error: ModelyardError) => void
}

/** Those who wait for the pool to come into some state. */
export class StateWatch {
  readonly #clock: Clock
  readonly #watchers = new Set<Watcher>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** To be called whenever the state has changed. */
  look(state: PoolState): void {
    for (const watcher of this.#watchers) this.#settle(watcher, watcher.check(state))
  }

  /** Resolves when the check says so, or in any case after `patience` milliseconds. */
  async until(state: PoolState, check: Check, patience?: number): Promise<void> {
    let timer: Timer | undefined
    await new Promise<void>((resolve, reject) => {
      const watcher = { check, resolve, reject }
      this.#watchers.add(watcher)
      this.#settle(watcher, check(state))
      if (patience === undefined || !this.#watchers.has(watcher)) return
      timer = this.#clock.setTimer(patience, () => this.#settle(watcher, true))
    }).finally(() => timer?.cancel())
  }

  #settle(watcher: Watcher, outcome: boolean | ModelyardError): void {
    if (outcome === false) return
    this.#watchers.delete(watcher)
    if (outcome === true) watcher.resolve()
    else watcher.reject(outcome)
  }
}
