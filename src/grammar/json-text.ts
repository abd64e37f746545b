import { common, contains, type CodePointRange } from './code-points.ts'
import { choice, repeat, sequence, set, text, type Expression } from './expression.ts'

/** What a JSON string may hold as it is. */
export const PLAIN: readonly CodePointRange[] = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0xd7_ff],
  [0xe0_00, 0x10_ff_ff],
]

/** Those that it may not. */
const ESCAPED: readonly number[] = [0x22, 0x5c, ...Array.from({ length: 0x20 }, (_, codePoint) => codePoint)]

/** How a JSON string is written whose content is of the expression; one spelling for each character. */
export function jsonContent(content: Expression): Expression {
  switch (content.kind) {
    case 'text':
      return text(JSON.stringify(content.text).slice(1, -1))
    case 'set':
      return jsonCharacter(content.ranges)
    case 'rule':
      return content
    case 'sequence':
      return sequence(...content.items.map(jsonContent))
    case 'choice':
      return choice(...content.items.map(jsonContent))
    default:
      return repeat(jsonContent(content.item), content.least, content.most)
  }
}

function jsonCharacter(ranges: readonly CodePointRange[]): Expression {
  const plain = common(ranges, PLAIN)
  const escaped = ESCAPED.filter((codePoint) => contains(ranges, codePoint))
  return choice(
    ...(plain.length > 0 ? [set(plain)] : []),
    ...escaped.map((codePoint) => text(JSON.stringify(String.fromCodePoint(codePoint)).slice(1, -1))),
  )
}

/** Least and most characters of the texts of an expression without rules. */
export function lengthOf(content: Expression): { least: number; most: number } {
  switch (content.kind) {
    case 'text': {
      const { length } = Array.from(content.text)
      return { least: length, most: length }
    }
    case 'set':
      return { least: 1, most: 1 }
    case 'rule':
      return { least: 0, most: Infinity }
    case 'sequence':
      return content.items.map(lengthOf).reduce(sum, { least: 0, most: 0 })
    case 'choice': {
      const lengths = content.items.map(lengthOf)
      return {
        least: Math.min(...lengths.map(({ least }) => least)),
        most: Math.max(...lengths.map(({ most }) => most)),
      }
    }
    default: {
      const { least, most } = lengthOf(content.item)
      return { least: least * content.least, most: most === 0 ? 0 : most * content.most }
    }
  }
}

function sum(some: { least: number; most: number }, others: { least: number; most: number }): typeof some {
  return { least: some.least + others.least, most: some.most + others.most }
}
