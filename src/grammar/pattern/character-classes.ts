import { common, complement, united, ANY_CODE_POINT, type CodePointRange } from '../code-points.ts'
import type { PatternCursor } from './pattern-cursor.ts'

const DIGITS: readonly CodePointRange[] = [[0x30, 0x39]]
const WORD: readonly CodePointRange[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
]
/** What ECMAScript counts as white space and line ends. */
const SPACES: readonly CodePointRange[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x16_80, 0x16_80],
  [0x20_00, 0x20_0a],
  [0x20_28, 0x20_29],
  [0x20_2f, 0x20_2f],
  [0x20_5f, 0x20_5f],
  [0x30_00, 0x30_00],
  [0xfe_ff, 0xfe_ff],
]

const CLASSES: Readonly<Record<string, readonly CodePointRange[]>> = {
  d: DIGITS,
  D: complement(DIGITS),
  w: WORD,
  W: complement(WORD),
  s: SPACES,
  S: complement(SPACES),
}
const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, '0': 0 }

/** After the backslash, outside of brackets or inside. */
export function parseEscape(cursor: PatternCursor): readonly CodePointRange[] {
  const character = cursor.next()
  const known = CLASSES[character]
  if (known !== undefined) return known
  const codePoint = escapedCodePoint(character, cursor)
  const ranges = common([[codePoint, codePoint]], ANY_CODE_POINT)
  return ranges.length > 0 ? ranges : cursor.refuse('surrogates are not supported')
}

function escapedCodePoint(character: string, cursor: PatternCursor): number {
  const control = CONTROLS[character]
  if (control !== undefined) return control
  if (character === 'x') return cursor.takeHex(2)
  if (character === 'u') return unicodeEscape(cursor)
  if (/^[A-Za-z0-9]$/.test(character)) cursor.refuse(`"\\${character}" is not supported`)
  return character.codePointAt(0) ?? 0
}

function unicodeEscape(cursor: PatternCursor): number {
  if (!cursor.take('{')) return cursor.takeHex(4)
  let digits = ''
  while (!cursor.take('}')) digits += cursor.next()
  if (!/^[\da-f]{1,6}$/i.test(digits)) cursor.refuse('an escape needs hexadecimal digits')
  return Number.parseInt(digits, 16)
}

/** After `[`, up to and with `]`. */
export function parseClass(cursor: PatternCursor): CodePointRange[] {
  const isNegated = cursor.take('^')
  const ranges: CodePointRange[] = []
  while (!cursor.take(']')) ranges.push(...classItem(cursor))
  const found = isNegated ? complement(ranges) : united(common(ranges, ANY_CODE_POINT))
  return found.length > 0 ? found : cursor.refuse('a class matches no character')
}

function classItem(cursor: PatternCursor): readonly CodePointRange[] {
  const from = classCharacter(cursor)
  if (!cursor.take('-')) return from
  if (cursor.peek() === ']') return [...from, [0x2d, 0x2d]]
  const to = classCharacter(cursor)
  const [first, last] = [single(from), single(to)]
  if (first === undefined || last === undefined || first > last)
    return cursor.refuse('a range of a class is wrong')
  return [[first, last]]
}

function classCharacter(cursor: PatternCursor): readonly CodePointRange[] {
  const character = cursor.next()
  if (character === '\\') return cursor.take('b') ? [[8, 8]] : parseEscape(cursor)
  const codePoint = character.codePointAt(0) ?? 0
  return [[codePoint, codePoint]]
}

function single([range, ...others]: readonly CodePointRange[]): number | undefined {
  return range !== undefined && others.length === 0 && range[0] === range[1] ? range[0] : undefined
}
