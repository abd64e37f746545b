/** Text of tokens, as a tokenizer has it. */
type Decode = (tokens: readonly number[]) => string

/** What stands for bytes that are no character yet. */
const UNFINISHED = '\uFFFD'

/**
 * Tokens to text, piece by piece: no half characters, no white space at either end. A tokenizer's text of one token depends on the tokens
 * before it (a space, half a character), so that each is seen together with those of the piece before.
 */
export class WrittenText {
  readonly #decode: Decode
  /** Of the last piece, and those after it that made no piece yet. */
  #tokens: number[] = []
  /** How many of them belong to the last piece. */
  #told = 0
  #isBegun = false
  /** White space that is told when something follows it. */
  #space = ''

  constructor(decode: Decode) {
    this.#decode = decode
  }

  /** @returns the text that is whole with this token; empty while it is not */
  add(token: number): string {
    this.#tokens.push(token)
    const before = this.#told === 0 ? '' : this.#decode(this.#tokens.slice(0, this.#told))
    const whole = this.#decode(this.#tokens)
    if (whole.length <= before.length || whole.endsWith(UNFINISHED)) return ''
    this.#tokens = this.#tokens.slice(this.#told)
    this.#told = this.#tokens.length
    return this.#withinText(whole.slice(before.length))
  }

  #withinText(text: string): string {
    const whole = this.#space + text
    const ended = whole.trimEnd()
    this.#space = whole.slice(ended.length)
    const piece = this.#isBegun ? ended : ended.trimStart()
    this.#isBegun ||= piece !== ''
    return piece
  }
}
