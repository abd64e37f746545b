/** Takes so many threads more; what it gives back gives them back. */
export type ClaimThreads = (threads: number) => () => void

/** Cores beside the model's own threads: pieces of prompts take them while no other model computes (R17). */
export class PromptThreads {
  readonly #claim: ClaimThreads
  readonly #more: number
  #isAlone = true
  #takers = 0
  #giveBack: (() => void) | undefined

  /** @param more threads that prompts may take beside the model's own; 0 = none ever */
  constructor(claim: ClaimThreads, more: number) {
    this.#claim = claim
    this.#more = more
  }

  /** Whether no other model computes: told by the pool, and heeded with the next piece. */
  set isAlone(isAlone: boolean) {
    this.#isAlone = isAlone
  }

  get areFree(): boolean {
    return this.#isAlone && this.#more > 0
  }

  /** Several slots may have them at once: one context computes for all of them. @returns gives them back */
  take(): () => void {
    this.#takers++
    this.#giveBack ??= this.#claim(this.#more)
    return () => {
      if (--this.#takers > 0) return
      this.#giveBack?.()
      this.#giveBack = undefined
    }
  }
}

/** For contexts whose threads are not to be touched. */
export const NO_MORE_THREADS: PromptThreads = new PromptThreads(() => () => undefined, 0)
