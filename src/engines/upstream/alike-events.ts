/** The fields a piece of an answer stands in. */
const FIELDS = { text: ['content', 'text'], reasoning: ['reasoning_content', 'reasoning'] } as const

/** Text that is in JSON as it is. */
const PLAIN = /^[^"\\\p{Cc}]*$/u

export interface AlikePiece {
  readonly type: 'text' | 'reasoning'
  readonly text: string
}

/**
 * The events of one answer differ in their piece of text alone: byte for byte they are the same before and after it. What was read of one of them
 * holds for the next that is alike, which then need not be parsed. Another text in the same place of the same JSON changes nothing else.
 */
export class AlikeEvents {
  #type: AlikePiece['type'] = 'text'
  #head = ''
  #tail = ''

  /** The piece of an event that is like the one that was learned in all but that; undefined = it has to be parsed. */
  pieceOf(data: string): AlikePiece | undefined {
    const [head, tail] = [this.#head, this.#tail]
    const end = data.length - tail.length
    if (head === '' || end < head.length || !data.startsWith(head) || !data.endsWith(tail)) return undefined
    const text = data.slice(head.length, end)
    return PLAIN.test(text) ? { type: this.#type, text } : undefined
  }

  /** An event in which there is nothing but this piece. */
  learn(data: string, { type, text }: AlikePiece): void {
    this.#head = ''
    for (const field of FIELDS[type]) {
      const literal = JSON.stringify(text)
      const at = placeOf(data, field, literal)
      if (at === undefined) continue
      this.#type = type
      this.#head = data.slice(0, at)
      this.#tail = data.slice(at + literal.length - 2)
      return
    }
  }
}

/** Where the text of a field begins that is there once, and as it was expected: a name in quotes is no part of any text. */
function placeOf(data: string, field: string, literal: string): number | undefined {
  const name = `"${field}"`
  const place = data.indexOf(name)
  if (place < 0 || data.includes(name, place + 1)) return undefined
  const after = place + name.length
  const start = data.indexOf(literal, after)
  return start >= 0 && data.slice(after, start).trim() === ':' ? start + 1 : undefined
}
