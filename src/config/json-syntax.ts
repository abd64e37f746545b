/**
 * Offset of the first character at which a text stops being JSON; undefined when it is JSON. `JSON.parse` says where only
 * sometimes, and in words that differ between versions of Node.
 */
export function jsonErrorOffset(text: string): number | undefined {
  const scanner = new JsonScanner(text)
  return scanner.value(0) && scanner.end() ? undefined : scanner.offset
}

const SPACE = /[ \t\n\r]*/y
const SCALAR =
  /"(?:[ !#-[\]-\uFFFF]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const DEEPEST = 1000

class JsonScanner {
  readonly #text: string
  offset = 0

  constructor(text: string) {
    this.#text = text
  }

  value(depth: number): boolean {
    this.#skip(SPACE)
    if (depth > DEEPEST) return false
    if (this.#take('{')) return this.#items('}', () => this.#member(depth))
    if (this.#take('[')) return this.#items(']', () => this.value(depth + 1))
    return this.#skip(SCALAR)
  }

  end(): boolean {
    this.#skip(SPACE)
    return this.offset === this.#text.length
  }

  #items(close: string, item: () => boolean): boolean {
    if (this.#take(close)) return true
    do {
      if (!item()) return false
    } while (this.#take(','))
    return this.#take(close)
  }

  #member(depth: number): boolean {
    this.#skip(SPACE)
    const name = this.#text[this.offset] === '"' && this.#skip(SCALAR)
    return name && this.#take(':') && this.value(depth + 1)
  }

  #take(character: string): boolean {
    this.#skip(SPACE)
    if (this.#text[this.offset] !== character) return false
    this.offset++
    return true
  }

  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.offset
    const match = pattern.exec(this.#text)
    if (match === null) return false
    this.offset += match[0].length
    return true
  }
}
