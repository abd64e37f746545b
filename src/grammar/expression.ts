import { ANY_CODE_POINT, type CodePointRange } from './code-points.ts'

/** What a rule says, as GBNF has it. `most` is `Infinity` where there is no end. */
export type Expression =
  | { kind: 'text'; text: string }
  | { kind: 'set'; ranges: readonly CodePointRange[] }
  | { kind: 'rule'; name: string }
  | { kind: 'sequence'; items: readonly Expression[] }
  | { kind: 'choice'; items: readonly Expression[] }
  | { kind: 'repeat'; item: Expression; least: number; most: number }

/** Rules by name; an answer is a text of the rule `root`. */
export interface Grammar {
  root: string
  rules: ReadonlyMap<string, Expression>
}

export const NOTHING: Expression = { kind: 'text', text: '' }
export const ANYTHING: Expression = { kind: 'set', ranges: ANY_CODE_POINT }

export function text(value: string): Expression {
  return { kind: 'text', text: value }
}

export function rule(name: string): Expression {
  return { kind: 'rule', name }
}

export function set(ranges: readonly CodePointRange[]): Expression {
  return { kind: 'set', ranges }
}

/** Characters written as `a-z` pairs and single ones: `characters('a-zA-Z_')`. */
export function characters(written: string): Expression {
  const ranges: CodePointRange[] = []
  for (let index = 0; index < written.length; index++) {
    const first = written.charCodeAt(index)
    const isRange = written[index + 1] === '-' && index + 2 < written.length
    const last = isRange ? written.charCodeAt(index + 2) : first
    ranges.push([first, last])
    if (isRange) index += 2
  }
  return { kind: 'set', ranges }
}

export function sequence(...items: readonly Expression[]): Expression {
  const [only, ...others] = items
  return only !== undefined && others.length === 0 ? only : { kind: 'sequence', items }
}

export function choice(...items: readonly Expression[]): Expression {
  const [only, ...others] = items
  return only !== undefined && others.length === 0 ? only : { kind: 'choice', items }
}

export function repeat(item: Expression, least: number, most: number): Expression {
  if (most === 0) return NOTHING
  return least === 1 && most === 1 ? item : { kind: 'repeat', item, least, most }
}

export function optional(item: Expression): Expression {
  return repeat(item, 0, 1)
}
