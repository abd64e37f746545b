/**
 * Lets somebody have the context for himself between two steps of those who answer. node-llama-cpp locks the context for as long as any
 * sequence has tokens waiting, and two answers that take turns leave no moment without: whoever wants to erase, save or read back a
 * sequence would wait until they have ended, and with him the request that is to begin there. One for a context.
 */
export class ContextGate {
  #waiting = 0
  #closed: Promise<void> | undefined
  #open: () => void = () => undefined

  /** To be awaited before each step; undefined = go on at once. */
  get turn(): Promise<void> | undefined {
    return this.#closed
  }

  /** Does what needs the context's lock: no new step begins until it is done. */
  async alone<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#waiting++
    this.#closed ??= new Promise((resolve) => {
      this.#open = resolve
    })
    try {
      return await work()
    } finally {
      this.#waiting--
      if (this.#waiting === 0) this.#letOn()
    }
  }

  #letOn(): void {
    this.#closed = undefined
    this.#open()
  }
}
