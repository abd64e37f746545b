import type { Expression, Grammar } from './expression.ts'
import { refuseGrammar } from './refuse-grammar.ts'
import { mayBeEmpty } from './rule-properties.ts'

/** A rule that another may begin with, and in how many ways. */
export interface LeftEdge {
  to: string
  times: number
}

/** For each rule those that it may begin with. */
export function leftEdges(rules: Grammar['rules'], empty: ReadonlySet<string>): Map<string, LeftEdge[]> {
  return new Map(Array.from(rules, ([name, body]) => [name, summed(beginnings(body, empty, 1))]))
}

function beginnings(expression: Expression, empty: ReadonlySet<string>, times: number): LeftEdge[] {
  switch (expression.kind) {
    case 'text':
    case 'set':
      return []
    case 'rule':
      return [{ to: expression.name, times }]
    case 'choice':
      return expression.items.flatMap((item) => beginnings(item, empty, times))
    case 'sequence': {
      const end = expression.items.findIndex((item) => !mayBeEmpty(item, empty))
      const items = end === -1 ? expression.items : expression.items.slice(0, end + 1)
      return items.flatMap((item) => beginnings(item, empty, times))
    }
    default: {
      const { item, most } = expression
      const isNullable = most > 1 && mayBeEmpty(item, empty)
      if (isNullable && most === Infinity) refuseGrammar('it repeats without end what may be empty.')
      return beginnings(item, empty, isNullable ? times * most : times)
    }
  }
}

function summed(edges: readonly LeftEdge[]): LeftEdge[] {
  const sums = new Map<string, number>()
  for (const { to, times } of edges) sums.set(to, (sums.get(to) ?? 0) + times)
  return Array.from(sums, ([to, times]) => ({ to, times }))
}
