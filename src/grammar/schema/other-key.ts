import { common, complement, contains, type CodePointRange } from '../code-points.ts'
import { choice, NOTHING, repeat, sequence, set, text, type Expression } from '../expression.ts'
import { PLAIN } from '../json-text.ts'
import type { RuleBook } from '../rule-book.ts'

const LONGEST = 200

/** A key that is none of the names. It has no escapes, because a name could be written with them. */
export function otherKey(names: readonly string[], book: RuleBook, refuse: () => never): Expression {
  if (names.some((name) => name.length > LONGEST)) refuse()
  const plain = names.map((name) => Array.from(name)).filter((name) => name.every(isPlain))
  const rest = afterPrefix(plain, book)
  return book.add('other-key', sequence(text('"'), rest, text('"')))
}

/** What may follow where all that was written is the beginning of each of the names. */
function afterPrefix(names: readonly (readonly string[])[], book: RuleBook): Expression {
  const byFirst = new Map<string, string[][]>()
  for (const [first, ...rest] of names) {
    if (first !== undefined) byFirst.set(first, [...(byFirst.get(first) ?? []), rest])
  }
  const continued = [...byFirst].map(([first, rests]) => sequence(text(first), afterPrefix(rests, book)))
  const taken = [...byFirst.keys()].map((first): CodePointRange => [codePointOf(first), codePointOf(first)])
  const others = sequence(set(common(complement(taken), PLAIN)), repeat(set(PLAIN), 0, Infinity))
  const isName = names.some(({ length }) => length === 0)
  return book.add('key-part', choice(...(isName ? [] : [NOTHING]), ...continued, others))
}

function codePointOf(character: string): number {
  return character.codePointAt(0) ?? 0
}

function isPlain(character: string): boolean {
  return contains(PLAIN, codePointOf(character))
}
