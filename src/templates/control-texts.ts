import { CUT, withoutMarks } from './marks.ts'

interface Node {
  next: Map<number, Node>
  /** A control token's text ends here. */
  ends: boolean
}

/**
 * The texts of a tokenizer's control tokens, and what keeps users' texts from becoming one (P15): `guard` marks the places of a text
 * where it looks like one, in whole or in a part that its neighbours in the prompt could complete; `pieces` cuts the rendered prompt
 * there. Tokenised one by one, no piece holds a control token that the template did not write. A prompt without look-alikes stays in
 * one piece and is tokenised as ever.
 */
export class ControlTexts {
  readonly #texts: Set<string>
  readonly #root: Node = node()
  readonly #suffixes = new Set<string>()
  /** All texts with a character between them that no text has: tells whether a text is part of one. */
  readonly #joined: string
  readonly #longest: number

  constructor(texts: Iterable<string>) {
    this.#texts = new Set([...texts].filter((text) => text !== ''))
    this.#joined = [...this.#texts].join(CUT)
    this.#longest = Math.max(0, ...[...this.#texts].map(({ length }) => length))
    for (const text of this.#texts) this.#learn(text)
  }

  has(text: string): boolean {
    return this.#texts.has(text)
  }

  /** The text without our marks, and with a {@link CUT} wherever it looks like a control token. */
  guard(text: string): string {
    const clean = withoutMarks(text)
    const cuts = this.#cutsOf(clean)
    return cuts.length === 0 ? clean : piecesAt(clean, cuts).join(CUT)
  }

  /** Guards every text in plain data, the names of its fields included. */
  guardAll(value: unknown): unknown {
    if (typeof value === 'string') return this.guard(value)
    if (Array.isArray(value)) return value.map((item) => this.guardAll(item))
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([name, item]) => [this.guard(name), this.guardAll(item)])
    return Object.fromEntries(entries) as unknown
  }

  /** The rendered prompt cut at those marks that lie inside a control token's text; the other marks are dropped. */
  pieces(rendered: string): string[] {
    const marked = rendered.split(CUT)
    const text = marked.join('')
    const cuts: number[] = []
    let position = 0
    for (const piece of marked.slice(0, -1)) {
      position += piece.length
      if (position !== cuts.at(-1) && this.#splitsOne(text, position)) cuts.push(position)
    }
    return piecesAt(text, cuts)
  }

  /** The longest control text that begins at `index`. */
  textAt(text: string, index: number): string | undefined {
    let end = 0
    this.#walk(text, index, (reached) => {
      end = reached
    })
    return end === 0 ? undefined : text.slice(index, end)
  }

  /** The longest control text that ends at `index`. */
  textBefore(text: string, index: number): string | undefined {
    for (let start = Math.max(0, index - this.#longest); start < index; start++) {
      const candidate = text.slice(start, index)
      if (this.#texts.has(candidate)) return candidate
    }
    return undefined
  }

  #learn(text: string): void {
    let place = this.#root
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index)
      const next = place.next.get(unit) ?? node()
      place.next.set(unit, next)
      place = next
      if (index > 0) this.#suffixes.add(text.slice(index))
    }
    place.ends = true
  }

  /** Calls back with each end of a control text that begins at `start`. @returns whether the text ended before the search did */
  #walk(text: string, start: number, found: (end: number) => void): boolean {
    let place: Node | undefined = this.#root
    for (let index = start; index < text.length; index++) {
      place = place.next.get(text.charCodeAt(index))
      if (place === undefined) return false
      if (place.ends) found(index + 1)
    }
    return place.next.size > 0
  }

  #cutsOf(text: string): number[] {
    const cuts = new Set<number>()
    if (this.#couldContinue(text)) cuts.add(0)
    for (let index = 0; index < text.length; index++) {
      if (!this.#root.next.has(text.charCodeAt(index))) continue
      const inside = index + String.fromCodePoint(text.codePointAt(index) ?? 0).length
      const ranOut = this.#walk(text, index, () => cuts.add(inside))
      if (ranOut) cuts.add(text.length)
    }
    return [...cuts].sort((a, b) => a - b)
  }

  /** Whether what stands before this text could make its beginning the rest of a control text, or all of it the middle of one. */
  #couldContinue(text: string): boolean {
    const most = Math.min(text.length, this.#longest)
    for (let length = 1; length <= most; length++) {
      if (this.#suffixes.has(text.slice(0, length))) return true
    }
    return text !== '' && text.length < this.#longest && this.#joined.includes(text)
  }

  #splitsOne(text: string, position: number): boolean {
    const starts = Array.from({ length: Math.min(position, this.#longest) }, (_, back) => position - 1 - back)
    return starts.some((start) => this.#reachesBeyond(text, start, position))
  }

  #reachesBeyond(text: string, start: number, position: number): boolean {
    let furthest = 0
    this.#walk(text, start, (end) => {
      furthest = end
    })
    return furthest > position
  }
}

function node(): Node {
  return { next: new Map(), ends: false }
}

function piecesAt(text: string, cuts: readonly number[]): string[] {
  return [...cuts, text.length].map((end, index) => text.slice(index === 0 ? 0 : cuts[index - 1], end))
}
