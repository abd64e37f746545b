interface Entry {
  readonly at: number
  readonly number: number
  readonly action: () => void
}

/** What will happen at which simulated moment; things due together happen in the order in which they were put in. */
export class EventQueue {
  readonly #heap: Entry[] = []
  #count = 0

  add(at: number, action: () => void): void {
    this.#count++
    this.#heap.push({ at, number: this.#count, action })
    this.#rise(this.#heap.length - 1)
  }

  /** When the next thing happens; undefined when nothing will. */
  nextAt(): number | undefined {
    return this.#heap[0]?.at
  }

  take(): (() => void) | undefined {
    const [first] = this.#heap
    const last = this.#heap.pop()
    if (first === undefined || last === undefined) return undefined
    if (this.#heap.length > 0) {
      this.#heap[0] = last
      this.#sink(0)
    }
    return first.action
  }

  #isBefore(a: number, b: number): boolean {
    const [first, second] = [this.#heap[a], this.#heap[b]]
    if (first === undefined || second === undefined) return false
    return first.at < second.at || (first.at === second.at && first.number < second.number)
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#heap[a], this.#heap[b]]
    if (first === undefined || second === undefined) return
    this.#heap[a] = second
    this.#heap[b] = first
  }

  #rise(from: number): void {
    for (let index = from, parent = (index - 1) >> 1; index > 0 && this.#isBefore(index, parent);) {
      this.#swap(index, parent)
      index = parent
      parent = (index - 1) >> 1
    }
  }

  #sink(from: number): void {
    for (let index = from; ;) {
      const [left, right] = [2 * index + 1, 2 * index + 2]
      let least = index
      if (this.#isBefore(left, least)) least = left
      if (this.#isBefore(right, least)) least = right
      if (least === index) return
      this.#swap(index, least)
      index = least
    }
  }
}
