import type { StopSignal } from '../../base/cancellation.ts'
import { abortError } from '../../base/abort.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { ModelyardError } from '../../base/errors.ts'
import type { Part, Result } from '../../tasks/part.ts'
import { PART_WINDOW } from './protocol.ts'

export interface RunPort {
  clock: Clock
  signal: StopSignal
  /** Milliseconds a cancelled run may take to end in the worker. */
  abortDeadline: number
  sendCredit: (parts: number) => void
  sendAbort: () => void
  /** The worker did not confirm the abort in time. */
  stuck: () => void
}

export interface Batch {
  parts: Part[]
  made: number
}

type Outcome = { result: Result } | { error: ModelyardError }

/** The server's side of one run: parts waiting for their reader, and the one word about how it ended in the worker. */
export class WorkerRun {
  readonly #port: RunPort
  #batches: Batch[] = []
  #outcome: Outcome | undefined
  #cancelled = false
  #taken = 0
  #deadline: Timer | undefined
  #wake: (() => void) | undefined

  constructor(port: RunPort) {
    this.#port = port
  }

  /** True while the reader waits for parts; otherwise it is the reader that holds things up, not the worker. */
  get waiting(): boolean {
    return this.#wake !== undefined
  }

  accept(batch: Batch): void {
    if (this.#cancelled) return
    this.#batches.push(batch)
    this.#wake?.()
  }

  end(outcome: Outcome): void {
    if (this.#outcome !== undefined) return
    this.#outcome = outcome
    this.#deadline?.cancel()
    this.#wake?.()
  }

  /** Nobody reads any more: what waits is dropped, the worker told, and given a time to confirm. Harmless after the end. */
  cancel(): void {
    if (this.#cancelled) return
    this.#cancelled = true
    this.#batches = []
    if (this.#outcome !== undefined) return
    this.#port.sendAbort()
    this.#deadline = this.#port.clock.setTimer(this.#port.abortDeadline, this.#port.stuck)
  }

  /** The next parts, or undefined at the end. */
  async nextBatch(): Promise<Batch | undefined> {
    while (this.#batches.length === 0 && this.#outcome === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    return this.#batches.shift()
  }

  /** Parts were read: the worker may make as many more. Told in quarters of the window, to spare messages. */
  giveBack(parts: number): void {
    this.#taken += parts
    if (this.#taken < PART_WINDOW / 4 || this.#outcome !== undefined) return
    this.#port.sendCredit(this.#taken)
    this.#taken = 0
  }

  /** After the end: the result, or throws. A fired signal's reason comes before all else. */
  result(): Result {
    const { signal } = this.#port
    if (signal.aborted) throw abortError(signal)
    const outcome = this.#outcome
    if (outcome !== undefined && 'result' in outcome) return outcome.result
    throw outcome?.error ?? abortError(signal)
  }

  /** Resolves when the worker has ended the run, or has ended itself: only then is the slot free. */
  async ended(): Promise<void> {
    while (this.#outcome === undefined) await this.nextBatch()
  }
}
