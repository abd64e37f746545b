interface Entry {
  readonly at: number
  readonly number: number
  readonly action: () => void
}

const isBefore = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.number < b.number)

/** What will happen at which simulated moment; things due together happen in the order in which they were put in. */
export class EventQueue {
  /** Each entry comes before those at twice its place and one or two more. */
  readonly #heap: Entry[] = []
  #count = 0

  add(at: number, action: () => void): void {
    this.#count++
    this.#rise({ at, number: this.#count, action })
  }

  /** When the next thing happens; undefined when nothing will. */
  nextAt(): number | undefined {
    return this.#heap[0]?.at
  }

  take(): (() => void) | undefined {
    const [first] = this.#heap
    const last = this.#heap.pop()
    if (first === undefined || last === undefined) return undefined
    if (this.#heap.length > 0) this.#sink(last)
    return first.action
  }

  /** From the end, past all that come after it. */
  #rise(entry: Entry): void {
    let place = this.#heap.length
    while (place > 0) {
      const parent = (place - 1) >> 1
      const above = this.#heap[parent] as Entry
      if (!isBefore(entry, above)) break
      this.#heap[place] = above
      place = parent
    }
    this.#heap[place] = entry
  }

  /** From the top, past all that come before it. */
  #sink(entry: Entry): void {
    const { length } = this.#heap
    let place = 0
    for (let child = 1; child < length; child = 2 * place + 1) {
      const [left, right] = [this.#heap[child] as Entry, this.#heap[child + 1]]
      const isRight = right !== undefined && isBefore(right, left)
      const below = isRight ? right : left
      if (!isBefore(below, entry)) break
      this.#heap[place] = below
      place = isRight ? child + 1 : child
    }
    this.#heap[place] = entry
  }
}
