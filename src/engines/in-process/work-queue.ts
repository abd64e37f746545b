/** Work that is done one after the other; a failure is heard by who asked, and holds up nobody else. */
export class WorkQueue {
  #last: Promise<unknown> = Promise.resolve()

  async add<Outcome>(work: () => Promise<Outcome>): Promise<Outcome> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Resolves when all work that was added until now is over. */
  async idle(): Promise<void> {
    await this.#last
  }
}
