import type { Part } from '../tasks/part.ts'

/** Places already taken that may lie at the front before the rest is moved up. */
const MOST_TAKEN = 1024

/** First in, first out, at a cost that does not grow with how many wait: a slow reader may leave hundreds of thousands. */
export class PartQueue {
  #parts: (Part | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#parts.length - this.#head
  }

  /** The oldest part, which stays. */
  get first(): Part | undefined {
    return this.#parts[this.#head]
  }

  push(part: Part): void {
    this.#parts.push(part)
  }

  /** The oldest part, if there is one. */
  take(): Part | undefined {
    const part = this.#parts[this.#head]
    if (part === undefined) return undefined
    this.#parts[this.#head++] = undefined
    if (this.#head > MOST_TAKEN && this.#head * 2 > this.#parts.length) this.#moveUp()
    return part
  }

  clear(): void {
    this.#parts = []
    this.#head = 0
  }

  #moveUp(): void {
    this.#parts = this.#parts.slice(this.#head)
    this.#head = 0
  }
}
