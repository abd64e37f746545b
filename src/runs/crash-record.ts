import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import type { Task } from '../tasks/task.ts'

const MOST_REMEMBERED = 256
/** Milliseconds after which a crash is forgotten: what ended the worker may have been the machine's doing. */
const REMEMBERED_FOR = 10 * 60_000

interface Crashes {
  count: number
  /** Monotonic milliseconds of the last one. */
  at: number
}

/**
 * Remembers which requests ended a worker, so that one which did so twice is refused instead of taking the model down again and again
 * (P16). Only crashes under a run that had its instance to itself count: a neighbour's fault is not held against anyone.
 */
export class CrashRecord {
  readonly #clock: Clock
  readonly #crashes = new Map<string, Crashes>()
  readonly #active = new Map<string, number>()
  /** Dead instances that several runs had: the last of them to hear of the death is as innocent as the first. */
  readonly #shared = new Set<string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  runStarted(instance: string): void {
    this.#active.set(instance, (this.#active.get(instance) ?? 0) + 1)
  }

  runEnded(instance: string): void {
    const left = (this.#active.get(instance) ?? 1) - 1
    if (left > 0) {
      this.#active.set(instance, left)
      return
    }
    this.#active.delete(instance)
    this.#shared.delete(instance)
  }

  /** Call before {@link runEnded}. */
  workerDied(instance: string, model: string, task: Task): void {
    if ((this.#active.get(instance) ?? 0) > 1) this.#shared.add(instance)
    if (this.#shared.has(instance)) return
    const key = this.#key(model, task)
    const count = this.#countOf(key) + 1
    this.#crashes.delete(key)
    this.#crashes.set(key, { count, at: this.#clock.now() })
    const oldest = this.#crashes.keys().next()
    if (this.#crashes.size > MOST_REMEMBERED && oldest.done !== true) this.#crashes.delete(oldest.value)
  }

  /** It was answered: whatever ended its workers before was not its fault alone. */
  answered(model: string, task: Task): void {
    if (this.#crashes.size > 0) this.#crashes.delete(this.#key(model, task))
  }

  isPoison(model: string, task: Task): boolean {
    return this.#crashes.size > 0 && this.#countOf(this.#key(model, task)) >= 2
  }

  #countOf(key: string): number {
    const known = this.#crashes.get(key)
    return known === undefined || this.#clock.now() - known.at > REMEMBERED_FOR ? 0 : known.count
  }

  #key(model: string, task: Task): string {
    return createHash('sha256').update(model).update('\0').update(JSON.stringify(task)).digest('base64url')
  }
}

/** What whoever asks for such a request again is told. */
export function poisonError(model: string, cause?: unknown): ModelyardError {
  const message = `This request ended two workers of "${model}" and is refused for ten minutes; the model itself is fine. Change the request.`
  return new ModelyardError('request_crashes_worker', message, { details: { model }, cause })
}
