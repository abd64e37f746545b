import { complement, united, type CodePointRange } from './code-points.ts'
import {
  ANYTHING,
  choice,
  repeat,
  rule,
  sequence,
  set,
  text,
  type Expression,
  type Grammar,
} from './expression.ts'
import { GrammarCursor } from './grammar-cursor.ts'
import { refuseGrammar } from './refuse-grammar.ts'

const MOST_CHARACTERS = 256 * 1024
const MOST_NESTED = 64
const MOST_REPEATED = 100_000

/**
 * Reads GBNF as llama.cpp has it: literals, sets, `.`, groups, alternatives and repetitions; the rule `root` is the answer. Tokens in
 * angle brackets are not supported. @throws ModelyardError `invalid_request` with line and column
 */
export function parseGrammar(written: string): Grammar {
  if (written.length > MOST_CHARACTERS) {
    refuseGrammar(`it has ${written.length} characters; at most ${MOST_CHARACTERS} are possible.`)
  }
  const cursor = new GrammarCursor(written)
  const rules = new Map<string, Expression>()
  cursor.skipSpace(true)
  while (!cursor.ended) {
    const name = cursor.takeName() ?? cursor.refuse('the name of a rule is expected')
    if (rules.has(name)) cursor.refuse(`the rule "${name}" is defined twice`)
    cursor.skipSpace(false)
    cursor.expect('::=')
    cursor.skipSpace(true)
    rules.set(name, parseChoice(cursor, 0))
    if (!cursor.ended && !cursor.atLineEnd) cursor.refuse('the end of the line is expected')
    cursor.skipSpace(true)
  }
  return { root: 'root', rules }
}

/** Inside of brackets a rule may go on in the next line. */
function parseChoice(cursor: GrammarCursor, depth: number): Expression {
  if (depth > MOST_NESTED) cursor.refuse(`groups are nested deeper than ${MOST_NESTED}`)
  const items = [parseSequence(cursor, depth)]
  while (cursor.take('|')) {
    cursor.skipSpace(true)
    items.push(parseSequence(cursor, depth))
  }
  return choice(...items)
}

function parseSequence(cursor: GrammarCursor, depth: number): Expression {
  const items: Expression[] = []
  for (let item = parseItem(cursor, depth); item !== undefined; item = parseItem(cursor, depth)) {
    cursor.skipSpace(depth > 0)
    items.push(parseRepeats(item, cursor, depth))
  }
  return sequence(...items)
}

/** Undefined where a sequence ends. */
function parseItem(cursor: GrammarCursor, depth: number): Expression | undefined {
  if (cursor.take('"')) return parseText(cursor)
  if (cursor.take('[')) return parseSet(cursor)
  if (cursor.take('.')) return ANYTHING
  if (cursor.take('(')) {
    cursor.skipSpace(true)
    const inner = parseChoice(cursor, depth + 1)
    cursor.expect(')')
    return inner
  }
  if (cursor.peek() === '<' || cursor.peek() === '!')
    cursor.refuse('tokens in angle brackets are not supported')
  const name = cursor.takeName()
  return name === undefined ? undefined : rule(name)
}

function parseText(cursor: GrammarCursor): Expression {
  let content = ''
  while (!cursor.take('"')) content += String.fromCodePoint(cursor.takeCharacter())
  return text(content)
}

function parseSet(cursor: GrammarCursor): Expression {
  const isNegated = cursor.take('^')
  const ranges: CodePointRange[] = []
  while (!cursor.take(']')) {
    const first = cursor.takeCharacter()
    const isRange = cursor.peek() === '-' && cursor.peek(1) !== ']'
    if (isRange) cursor.take('-')
    const last = isRange ? cursor.takeCharacter() : first
    if (first > last) cursor.refuse('a range is the wrong way round')
    ranges.push([first, last])
  }
  if (ranges.length === 0) cursor.refuse('a set is empty')
  return set(isNegated ? complement(ranges) : united(ranges))
}

function parseRepeats(item: Expression, cursor: GrammarCursor, depth: number): Expression {
  const counts = takeCounts(cursor)
  if (counts === undefined) return item
  cursor.skipSpace(depth > 0)
  return parseRepeats(repeat(item, ...counts), cursor, depth + 1)
}

function takeCounts(cursor: GrammarCursor): [least: number, most: number] | undefined {
  if (cursor.take('*')) return [0, Infinity]
  if (cursor.take('+')) return [1, Infinity]
  if (cursor.take('?')) return [0, 1]
  if (!cursor.take('{')) return undefined
  cursor.skipSpace(true)
  const least = cursor.takeCount() ?? cursor.refuse('a number is expected')
  cursor.skipSpace(true)
  const most = cursor.take(',') ? takeMost(cursor) : least
  cursor.skipSpace(true)
  cursor.expect('}')
  const largest = most === Infinity ? least : most
  if (largest > MOST_REPEATED || least > most) {
    cursor.refuse(`it repeats from ${least} to ${most} times; at most ${MOST_REPEATED} are possible`)
  }
  return [least, most]
}

function takeMost(cursor: GrammarCursor): number {
  cursor.skipSpace(true)
  return cursor.takeCount() ?? Infinity
}
