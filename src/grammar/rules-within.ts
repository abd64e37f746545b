import type { Expression } from './expression.ts'

/** Names of all rules that an expression refers to. */
export function rulesWithin(expression: Expression): string[] {
  switch (expression.kind) {
    case 'rule':
      return [expression.name]
    case 'sequence':
    case 'choice':
      return expression.items.flatMap(rulesWithin)
    case 'repeat':
      return rulesWithin(expression.item)
    default:
      return []
  }
}
