/** Why a regular expression cannot become a grammar. */
export class PatternError extends Error {
  override readonly name = 'PatternError'
}

/** Reads a regular expression by code points. */
export class PatternCursor {
  readonly #characters: readonly string[]
  #position = 0

  constructor(pattern: string) {
    this.#characters = Array.from(pattern)
  }

  get ended(): boolean {
    return this.#position >= this.#characters.length
  }

  /** Empty at the end. */
  peek(): string {
    return this.#characters[this.#position] ?? ''
  }

  next(): string {
    if (this.ended) this.refuse('it ends too early')
    return this.#characters[this.#position++] ?? ''
  }

  take(character: string): boolean {
    if (this.peek() !== character) return false
    this.#position++
    return true
  }

  takeCount(): number | undefined {
    let digits = ''
    while (/^\d$/.test(this.peek())) digits += this.next()
    return digits === '' ? undefined : Number(digits)
  }

  /** `<name>` of a group; `<=` and `<!` look behind. */
  takeName(): boolean {
    if (this.peek() !== '<' || /^[=!]$/.test(this.#characters[this.#position + 1] ?? '')) return false
    while (this.next() !== '>');
    return true
  }

  /** The character with that number of hexadecimal digits. */
  takeHex(digits: number): number {
    const written = Array.from({ length: digits }, () => this.next()).join('')
    if (!/^[\da-f]+$/i.test(written)) this.refuse('an escape needs hexadecimal digits')
    return Number.parseInt(written, 16)
  }

  refuse(reason: string): never {
    throw new PatternError(`${reason} (character ${this.#position})`)
  }
}
