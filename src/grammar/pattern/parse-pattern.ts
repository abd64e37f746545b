import type { CodePointRange } from '../code-points.ts'
import { ANYTHING, choice, repeat, sequence, set, text, type Expression } from '../expression.ts'
import { parseClass, parseEscape } from './character-classes.ts'
import { PatternCursor } from './pattern-cursor.ts'

const DOT: readonly CodePointRange[] = [
  [0, 9],
  [0x0b, 0x0c],
  [0x0e, 0x20_27],
  [0x20_2a, 0xd7_ff],
  [0xe0_00, 0x10_ff_ff],
]
const MOST_NESTED = 32
const MOST_REPEATED = 100_000

/**
 * The texts that a regular expression matches, as JSON Schema has it: anywhere in the text unless `^` and `$` say otherwise. What is
 * not regular (looking around, back references, word borders) is refused. @throws PatternError
 */
export function parsePattern(pattern: string): Expression {
  const cursor = new PatternCursor(pattern)
  const alternatives = [anchored(cursor)]
  while (cursor.take('|')) alternatives.push(anchored(cursor))
  if (!cursor.ended) cursor.refuse(`"${cursor.peek()}" is not expected`)
  return choice(...alternatives)
}

function anchored(cursor: PatternCursor): Expression {
  const begins = cursor.take('^')
  const body = parseSequence(cursor, 0)
  const ends = cursor.take('$')
  const anything = repeat(ANYTHING, 0, Infinity)
  return sequence(...(begins ? [] : [anything]), ...body, ...(ends ? [] : [anything]))
}

function parseSequence(cursor: PatternCursor, depth: number): Expression[] {
  const items: Expression[] = []
  while (!cursor.ended && !'|)$'.includes(cursor.peek())) {
    items.push(quantified(parseAtom(cursor, depth), cursor))
  }
  return items
}

function parseAtom(cursor: PatternCursor, depth: number): Expression {
  const character = cursor.next()
  switch (character) {
    case '.':
      return set(DOT)
    case '[':
      return set(parseClass(cursor))
    case '(':
      return parseGroup(cursor, depth + 1)
    case '\\':
      return set(parseEscape(cursor))
    case '^':
    case '*':
    case '+':
    case '?':
    case '{':
    case ')':
      return cursor.refuse(`"${character}" is not supported in this place`)
    default:
      return text(character)
  }
}

function parseGroup(cursor: PatternCursor, depth: number): Expression {
  if (depth > MOST_NESTED) cursor.refuse(`groups are nested deeper than ${MOST_NESTED}`)
  if (cursor.take('?') && !cursor.take(':') && !cursor.takeName()) {
    cursor.refuse('looking ahead or behind is not supported')
  }
  const alternatives = [sequence(...parseSequence(cursor, depth))]
  while (cursor.take('|')) alternatives.push(sequence(...parseSequence(cursor, depth)))
  if (!cursor.take(')')) cursor.refuse('")" is missing, or an anchor is inside a group')
  return choice(...alternatives)
}

function quantified(item: Expression, cursor: PatternCursor): Expression {
  const [least, most] = parseQuantifier(cursor)
  const isRepeated = least !== 1 || most !== 1
  if (isRepeated && cursor.take('?')) return repeat(item, least, most) // Lazy: the same texts.
  return repeat(item, least, most)
}

function parseQuantifier(cursor: PatternCursor): [least: number, most: number] {
  if (cursor.take('*')) return [0, Infinity]
  if (cursor.take('+')) return [1, Infinity]
  if (cursor.take('?')) return [0, 1]
  if (!cursor.take('{')) return [1, 1]
  const least = cursor.takeCount()
  if (least === undefined) return cursor.refuse('"{" needs a number after it')
  const most = cursor.take(',') ? (cursor.takeCount() ?? Infinity) : least
  if (!cursor.take('}')) cursor.refuse('"}" is missing')
  if (least > most || least > MOST_REPEATED || (most !== Infinity && most > MOST_REPEATED)) {
    cursor.refuse(`it repeats from ${least} to ${most} times; at most ${MOST_REPEATED} are possible`)
  }
  return [least, most]
}
