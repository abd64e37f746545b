import { ModelyardError } from '../../base/errors.ts'
import type { Clock } from '../../base/clock.ts'
import type { ExitReport } from '../engine.ts'
import type { PartChannel } from './part-channel.ts'

/** How long a loaded model lives, and what runs on it. Nothing is disposed of while a native step is under way: that ends processes. */
export class ModelLifetime {
  readonly exited: Promise<ExitReport>
  readonly clock: Clock
  readonly #model: string
  readonly #logTail: () => string[]
  readonly #runs = new Set<PartChannel>()
  #resolveExited: (report: ExitReport) => void = () => undefined
  #unloading: Promise<void> | undefined
  #watcher: (now: number) => void = () => undefined

  constructor(model: string, clock: Clock, logTail: () => string[]) {
    this.#model = model
    this.clock = clock
    this.#logTail = logTail
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve
    })
  }

  /** Calls back whenever something moved: a token, or a piece of a prompt. */
  watch(watcher: (now: number) => void): void {
    this.#watcher = watcher
  }

  moved(): void {
    this.#watcher(this.clock.now())
  }

  /** @throws worker_exited when the model is gone or going */
  check(): void {
    if (this.#unloading === undefined) return
    throw new ModelyardError('worker_exited', `Model "${this.#model}" is being unloaded; ask again.`)
  }

  begin(channel: PartChannel): void {
    this.check()
    this.#runs.add(channel)
  }

  finish(channel: PartChannel): void {
    this.#runs.delete(channel)
  }

  /** Cuts what runs, waits with `idle` until no native step is under way, then frees. Calling it twice is harmless. */
  async unload(idle: () => Promise<void>, free: () => Promise<void>): Promise<void> {
    this.#unloading ??= this.#unload(idle, free)
    await this.#unloading
  }

  async #unload(idle: () => Promise<void>, free: () => Promise<void>): Promise<void> {
    const cut = new ModelyardError('run_cut', `Model "${this.#model}" was unloaded while it answered.`)
    for (const channel of this.#runs) channel.fail(cut)
    let reason = 'It was unloaded.'
    try {
      await idle()
      await free()
    } catch (error) {
      reason = `It was unloaded, and freeing it failed: ${(error as Error).message}`
    }
    this.#resolveExited({ expected: true, reason, logTail: this.#logTail() })
  }
}
