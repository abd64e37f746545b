/** A reader that is written as if all text were there: it yields where it has to wait for more. */
export type Reading<Result = void> = Generator<void, Result, void>

const SPACE = /\s/

/** Text that comes in pieces of any size, for readers that need not care where the pieces end. */
export class Feed {
  #text = ''
  #at = 0
  #isEnded = false
  #record: string | undefined

  write(text: string): void {
    this.#text = this.#text.slice(this.#at) + text
    this.#at = 0
  }

  /** Nothing more will come. */
  end(): void {
    this.#isEnded = true
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** What is here and not taken yet. */
  get rest(): string {
    return this.#text.slice(this.#at)
  }

  take(length: number): string {
    const taken = this.#text.slice(this.#at, this.#at + length)
    this.#at += taken.length
    if (this.#record !== undefined) this.#record += taken
    return taken
  }

  /** Keeps what is taken from now on, so that it can be text after all. */
  record(already = ''): void {
    this.#record = already
  }

  /** What was taken since `record`; nothing is kept any longer. */
  stopRecording(): string {
    const record = this.#record ?? ''
    this.#record = undefined
    return record
  }

  /** Waits for that many units; fewer only at the end. */
  *peek(length = 1): Reading<string> {
    while (this.#text.length - this.#at < length && !this.#isEnded) yield
    return this.#text.slice(this.#at, this.#at + length)
  }

  *skip(pattern: RegExp = SPACE): Reading {
    while (pattern.test(yield* this.peek())) this.take(1)
  }

  /** The longest of these that comes next, once that is certain. Nothing is taken. */
  *nextOf(markers: readonly string[]): Reading<string | undefined> {
    for (;;) {
      const { rest } = this
      const open = markers.some((marker) => marker.length > rest.length && marker.startsWith(rest))
      if (open && !this.#isEnded) {
        yield
        continue
      }
      const found = markers.filter((marker) => rest.startsWith(marker))
      return found.toSorted((a, b) => b.length - a.length)[0]
    }
  }

  /** Takes one of these if it comes next. */
  *takeOf(markers: readonly string[]): Reading<boolean> {
    const found = yield* this.nextOf(markers)
    if (found === undefined) return false
    this.take(found.length)
    return true
  }

  /** Takes everything before `marker`, and the marker; undefined when it does not come within `most` units. */
  *takeUntil(marker: string, most: number): Reading<string | undefined> {
    for (;;) {
      const { rest } = this
      const end = rest.indexOf(marker)
      if (end >= 0 && end <= most) return this.take(end + marker.length).slice(0, end)
      if (end >= 0 || rest.length > most + marker.length || this.#isEnded) return undefined
      yield
    }
  }
}
