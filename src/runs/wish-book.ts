import { covers, type LoadWish } from './load-wish.ts'

interface KeptWish {
  wish: LoadWish
  /** Whether a copy was ready for it. The one before that makes way for it is not its end. */
  isServed: boolean
}

/** M3: what was wished of models beyond their configuration. It lasts while a copy is there: whoever comes next finds it as large. */
export class WishBook {
  readonly #kept = new Map<string, KeptWish>()

  of(model: string): LoadWish | undefined {
    return this.#kept.get(model)?.wish
  }

  keep(model: string, wish: LoadWish): void {
    const known = this.#kept.get(model)
    const isSame = known !== undefined && covers(known.wish, wish) && covers(wish, known.wish)
    if (!isSame) this.#kept.set(model, { wish, isServed: false })
  }

  noteReady(model: string): void {
    const known = this.#kept.get(model)
    if (known !== undefined) known.isServed = true
  }

  /** No copy is left, and nobody waits for one: the next is as configured. */
  noteUnloaded(model: string): void {
    if (this.#kept.get(model)?.isServed === true) this.#kept.delete(model)
  }

  /** Its load failed, and nobody waits for it any more. */
  forget(model: string): void {
    this.#kept.delete(model)
  }
}
