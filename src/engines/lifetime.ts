import type { StopSignal } from '../base/cancellation.ts'
import { onAbort } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import type { ExitReport } from './engine.ts'

/** How long a loaded model lives, and all waiting that ends with it or with a run's signal. */
export class Lifetime {
  readonly clock: Clock
  readonly exited: Promise<ExitReport>
  readonly #model: string
  readonly #crash: (() => void) | undefined
  readonly #waiters = new Set<(reason: unknown) => void>()
  #gone: ModelyardError | undefined
  #cut: ModelyardError | undefined
  #resolveExited: (report: ExitReport) => void = () => undefined

  /** `crash` ends the whole process; absent = only this model is gone by a crash. */
  constructor(model: string, clock: Clock, crash?: () => void) {
    this.#model = model
    this.#crash = crash
    this.clock = clock
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve
    })
  }

  /** Before anything begins. @throws worker_exited when the model is gone, the signal's reason when it has fired */
  check(signal?: StopSignal): void {
    if (this.#gone !== undefined) throw this.#gone
    if (signal?.aborted === true) throw signal.reason
  }

  /** While a run is under way. @throws run_cut or worker_exited, by how the model went; the signal's reason when it has fired */
  checkRun(signal: StopSignal): void {
    if (this.#cut !== undefined) throw this.#cut
    if (signal.aborted) throw signal.reason
  }

  /** Waits so many milliseconds, or for ever; rejects with the signal's reason or when the model goes. Leaves nothing behind. */
  async wait(milliseconds: number | 'for ever', signal: StopSignal): Promise<void> {
    this.checkRun(signal)
    const { promise, resolve, reject } = deferred()
    const timer = milliseconds === 'for ever' ? undefined : this.clock.setTimer(milliseconds, resolve)
    const off = onAbort(signal, () => reject(signal.reason))
    this.#waiters.add(reject)
    try {
      await promise
    } finally {
      timer?.cancel()
      off()
      this.#waiters.delete(reject)
    }
  }

  /** What a broken engine does to its process. Where it has none of its own, the model goes as if it had. */
  crash(): void {
    if (this.#crash !== undefined) this.#crash()
    else this.end({ expected: false, reason: 'it crashed.', logTail: [] })
  }

  /** The model is gone: everybody who waits is told, every later call rejects. Ending twice is harmless. */
  end(report: ExitReport): void {
    if (this.#gone !== undefined) return
    const gone = new ModelyardError('worker_exited', `Model "${this.#model}" is gone: ${report.reason}`)
    const cut = report.expected
      ? new ModelyardError('run_cut', `Model "${this.#model}" was unloaded while it answered.`)
      : gone
    this.#gone = gone
    this.#cut = cut
    for (const reject of this.#waiters) reject(cut)
    this.#resolveExited(report)
  }
}

interface Deferred {
  promise: Promise<void>
  resolve: () => void
  reject: (reason: unknown) => void
}

function deferred(): Deferred {
  let resolve: () => void = () => undefined
  let reject: (reason: unknown) => void = () => undefined
  const promise = new Promise<void>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
