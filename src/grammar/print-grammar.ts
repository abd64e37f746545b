import type { CodePointRange } from './code-points.ts'
import type { Expression, Grammar } from './expression.ts'
import { withSimpleRepeats } from './simple-repeats.ts'

/** Characters that GBNF has a short escape for, inside and outside of brackets. */
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' }

/** GBNF of all rules, the root first. */
export function printGrammar({ root, rules }: Grammar): string {
  const others = [...rules].filter(([name]) => name !== root)
  const first = rules.get(root)
  return printRules(new Map(first === undefined ? others : [[root, first], ...others]))
}

export function printRules(rules: ReadonlyMap<string, Expression>): string {
  return Array.from(withSimpleRepeats(rules), ([name, body]) => `${name} ::= ${printed(body)}\n`).join('')
}

function printed(expression: Expression): string {
  switch (expression.kind) {
    case 'text':
      return `"${Array.from(expression.text, (character) => escaped(character, '"')).join('')}"`
    case 'set':
      return `[${expression.ranges.map(printedRange).join('')}]`
    case 'rule':
      return expression.name
    case 'sequence':
      return expression.items.length === 0 ? '""' : expression.items.map(grouped).join(' ')
    case 'choice':
      return expression.items.map((item) => printed(item)).join(' | ')
    default:
      return `${grouped(expression.item)}${printedCount(expression.least, expression.most)}`
  }
}

/** In brackets where it would be taken apart otherwise. */
function grouped(expression: Expression): string {
  const isOne = expression.kind === 'text' || expression.kind === 'set' || expression.kind === 'rule'
  return isOne ? printed(expression) : `(${printed(expression)})`
}

function printedCount(least: number, most: number): string {
  if (least === 0 && most === 1) return '?'
  if (most === Infinity) return least === 0 ? '*' : least === 1 ? '+' : `{${least},}`
  return least === most ? `{${least}}` : `{${least},${most}}`
}

function printedRange([first, last]: CodePointRange): string {
  const from = escaped(String.fromCodePoint(first), '[]^-')
  return first === last ? from : `${from}-${escaped(String.fromCodePoint(last), '[]^-')}`
}

/** Control characters and all that means something to GBNF as a number, so that every text survives. */
function escaped(character: string, special: string): string {
  const short = SHORT[character]
  if (short !== undefined) return short
  const codePoint = character.codePointAt(0) ?? 0
  if (codePoint >= 0x20 && codePoint < 0x7f && !special.includes(character)) return character
  if (codePoint < 0x100) return `\\x${hex(codePoint, 2)}`
  return codePoint < 0x1_00_00 ? `\\u${hex(codePoint, 4)}` : `\\U${hex(codePoint, 8)}`
}

function hex(codePoint: number, digits: number): string {
  return codePoint.toString(16).toUpperCase().padStart(digits, '0')
}
