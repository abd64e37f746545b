import { refuseGrammar } from './refuse-grammar.ts'

const ESCAPES: Readonly<Record<string, string>> = {
  t: '\t',
  r: '\r',
  n: '\n',
  '\\': '\\',
  '"': '"',
  '[': '[',
  ']': ']',
  '-': '-',
}
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

/** Reads GBNF character by character. */
export class GrammarCursor {
  readonly #text: string
  #position = 0

  constructor(text: string) {
    this.#text = text
  }

  get ended(): boolean {
    return this.#position >= this.#text.length
  }

  get atLineEnd(): boolean {
    return this.peek() === '\n' || this.peek() === '\r'
  }

  /** Empty at the end. */
  peek(ahead: number = 0): string {
    return this.#text[this.#position + ahead] ?? ''
  }

  take(expected: string): boolean {
    if (!this.#text.startsWith(expected, this.#position)) return false
    this.#position += expected.length
    return true
  }

  expect(expected: string): void {
    if (!this.take(expected)) this.refuse(`"${expected}" is expected`)
  }

  takeName(): string | undefined {
    return this.#takePattern(/[A-Za-z0-9-]+/y)
  }

  takeCount(): number | undefined {
    const digits = this.#takePattern(/\d+/y)
    return digits === undefined ? undefined : Number(digits)
  }

  /** White space and comments. */
  skipSpace(acrossLines: boolean): void {
    this.#takePattern(acrossLines ? /(?:[ \t\r\n]|#[^\r\n]*)+/y : /(?:[ \t]|#[^\r\n]*)+/y)
  }

  /** One character of a literal or set, perhaps an escape. */
  takeCharacter(): number {
    if (this.ended) this.refuse('it ends too early')
    const codePoint = this.take('\\') ? this.#takeEscape() : this.#takePlain()
    const isSurrogate = codePoint >= 0xd8_00 && codePoint <= 0xdf_ff
    if (codePoint === 0 || codePoint > 0x10_ff_ff || isSurrogate) this.refuse('this is not a character')
    return codePoint
  }

  refuse(reason: string): never {
    const before = this.#text.slice(0, this.#position).split('\n')
    const column = (before.at(-1)?.length ?? 0) + 1
    return refuseGrammar(`line ${before.length}, column ${column}: ${reason}.`)
  }

  #takePlain(): number {
    const codePoint = this.#text.codePointAt(this.#position) ?? 0
    this.#position += codePoint > 0xff_ff ? 2 : 1
    return codePoint
  }

  #takeEscape(): number {
    const kind = this.peek()
    this.#position++
    const plain = ESCAPES[kind]
    if (plain !== undefined) return plain.charCodeAt(0)
    const length = HEX_DIGITS[kind]
    if (length === undefined) this.refuse('this escape is not known')
    const digits = this.#takePattern(/[\dA-Fa-f]+/y, length) ?? ''
    if (digits.length !== length) this.refuse(`${length ?? 0} hexadecimal digits are expected`)
    return Number.parseInt(digits, 16)
  }

  #takePattern(pattern: RegExp, most?: number): string | undefined {
    pattern.lastIndex = this.#position
    const found = pattern.exec(this.#text)?.[0].slice(0, most)
    if (found === undefined) return undefined
    this.#position += found.length
    return found
  }
}
