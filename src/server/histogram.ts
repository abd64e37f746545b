import type { HistogramReading } from './prometheus-text.ts'

/** Counts values by size; bounds are inclusive and ascending. */
export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #count = 0
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = bounds.map(() => 0)
  }

  observe(value: number): void {
    this.#count++
    this.#sum += value
    const index = this.#bounds.findIndex((bound) => value <= bound)
    if (index >= 0) this.#counts[index] = (this.#counts[index] ?? 0) + 1
  }

  reading(): HistogramReading {
    let seen = 0
    const buckets = this.#bounds.map((bound, index): [number, number] => {
      seen += this.#counts[index] ?? 0
      return [bound, seen]
    })
    return { buckets, count: this.#count, sum: this.#sum }
  }
}
