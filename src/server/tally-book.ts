import type { Sample } from './prometheus-text.ts'

/** Kinds that are counted apart; then the rest is counted together, so that no flood of names grows the memory. */
const MOST = 2000

/** Sums by labels, for counters. */
export class TallyBook {
  readonly #names: readonly string[]
  readonly #sums = new Map<string, { values: readonly string[]; sum: number }>()

  constructor(names: readonly string[]) {
    this.#names = names
  }

  /** `values` are those of the labels, in their order. */
  add(amount: number, ...values: string[]): void {
    const key = values.join('\0')
    const known = this.#sums.get(key)
    if (known !== undefined) known.sum += amount
    else if (this.#sums.size < MOST) this.#sums.set(key, { values, sum: amount })
    else if (values.some((value) => value !== '')) this.add(amount, ...values.map(() => ''))
    else this.#sums.set(key, { values, sum: amount })
  }

  samples(): Sample[] {
    return [...this.#sums.values()].map(({ values, sum }) => ({
      labels: Object.fromEntries(this.#names.map((name, index) => [name, values[index] ?? ''])),
      value: sum,
    }))
  }
}
