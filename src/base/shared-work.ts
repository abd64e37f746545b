import { abortError, onAbort } from './abort.ts'
import type { StopSignal } from './cancellation.ts'

interface Job<Value> {
  promise: Promise<Value>
  controller: AbortController
  waiters: number
}

/**
 * Does each piece of work once however many ask for it at the same time. Everybody can leave by their own signal; the work itself is
 * given up when the last one has left.
 */
export class SharedWork<Value> {
  readonly #jobs = new Map<string, Job<Value>>()

  async join(
    key: string,
    signal: StopSignal | undefined,
    start: (signal: AbortSignal) => Promise<Value>,
  ): Promise<Value> {
    if (signal?.aborted === true) throw abortError(signal)
    const job = this.#jobs.get(key) ?? this.#begin(key, start)
    job.waiters++
    let gone = false
    let unlisten: () => void = () => undefined
    const leaving = new Promise<never>((_, reject) => {
      unlisten = onAbort(signal, () => {
        gone = true
        this.#leave(key, job)
        reject(abortError(signal))
      })
    })
    try {
      return await Promise.race([job.promise, leaving])
    } finally {
      unlisten()
      if (!gone) job.waiters--
    }
  }

  #begin(key: string, start: (signal: AbortSignal) => Promise<Value>): Job<Value> {
    const controller = new AbortController()
    const promise = start(controller.signal).finally(() => {
      if (this.#jobs.get(key) === job) this.#jobs.delete(key)
    })
    promise.catch(() => undefined) // every waiter may have left: their own rejection is the one that counts
    const job: Job<Value> = { promise, controller, waiters: 0 }
    this.#jobs.set(key, job)
    return job
  }

  #leave(key: string, job: Job<Value>): void {
    job.waiters--
    if (job.waiters > 0) return
    if (this.#jobs.get(key) === job) this.#jobs.delete(key)
    job.controller.abort()
  }
}
