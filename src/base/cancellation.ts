/** What is used here of an `AbortSignal`; each of those is one. */
export interface StopSignal {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
  throwIfAborted(): void
}

/**
 * An `AbortController` and its signal in one, for what each request needs: Node's own signals are event targets, and making one, listening and
 * leaving again takes 9 µs where this takes a tenth of one. What it calls must not throw.
 */
export class Cancellation implements StopSignal {
  #listeners: (() => void)[] = []
  #aborted = false
  #reason: unknown
  #controller: AbortController | undefined

  get aborted(): boolean {
    return this.#aborted
  }

  get reason(): unknown {
    return this.#reason
  }

  /** Fires it, once: what comes later changes nothing. */
  abort(reason: unknown): void {
    if (this.#aborted) return
    this.#aborted = true
    this.#reason = reason
    const listeners = this.#listeners
    this.#listeners = []
    for (const listener of listeners) listener()
    this.#controller?.abort(reason)
  }

  /** Each listener is called once. */
  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.#aborted) this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const index = this.#listeners.indexOf(listener)
    if (index >= 0) this.#listeners.splice(index, 1)
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason
  }

  /** The same for code that knows `AbortSignal` alone; made when it is asked for. */
  get signal(): AbortSignal {
    this.#controller ??= this.#newController()
    return this.#controller.signal
  }

  #newController(): AbortController {
    const controller = new AbortController()
    if (this.#aborted) controller.abort(this.#reason)
    return controller
  }
}

/** The signal as Node's own functions take it. */
export function abortSignalOf(signal: StopSignal): AbortSignal {
  if (signal instanceof Cancellation) return signal.signal
  if (signal instanceof AbortSignal) return signal
  throw new TypeError('This is no signal that was made here.')
}
