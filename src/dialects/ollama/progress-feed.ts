/**
 * The latest news of each subject, for a reader that may be slower than they come: what was overtaken is left out, so that nothing piles
 * up.
 */
export class ProgressFeed<News> {
  readonly #latest = new Map<string, News>()
  #ended = false
  #wake: (() => void) | undefined

  put(subject: string, news: News): void {
    this.#latest.set(subject, news)
    this.#wake?.()
  }

  end(): void {
    this.#ended = true
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<News, void> {
    for (;;) {
      const news = [...this.#latest.values()]
      this.#latest.clear()
      yield* news
      if (this.#latest.size > 0) continue
      if (this.#ended) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}
