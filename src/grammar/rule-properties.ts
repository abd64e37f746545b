import type { Expression, Grammar } from './expression.ts'
import { rulesWithin } from './rules-within.ts'

type Rules = Grammar['rules']
type Holds = (expression: Expression, known: ReadonlySet<string>) => boolean

/** Rules that the empty text fits. */
export function emptyRules(rules: Rules): Set<string> {
  return rulesThat(mayBeEmpty, rules)
}

/** Rules that some finite text fits. */
export function finiteRules(rules: Rules): Set<string> {
  return rulesThat(isFinite, rules)
}

export function mayBeEmpty(expression: Expression, known: ReadonlySet<string>): boolean {
  switch (expression.kind) {
    case 'text':
      return expression.text === ''
    case 'set':
      return false
    case 'rule':
      return known.has(expression.name)
    case 'sequence':
      return expression.items.every((item) => mayBeEmpty(item, known))
    case 'choice':
      return expression.items.some((item) => mayBeEmpty(item, known))
    default:
      return expression.least === 0 || mayBeEmpty(expression.item, known)
  }
}

/** Everything in an expression must be, or an answer could run into what never ends. */
function isFinite(expression: Expression, known: ReadonlySet<string>): boolean {
  switch (expression.kind) {
    case 'text':
      return true
    case 'set':
      return expression.ranges.length > 0
    case 'rule':
      return known.has(expression.name)
    case 'sequence':
      return expression.items.every((item) => isFinite(item, known))
    case 'choice':
      return expression.items.some((item) => isFinite(item, known))
    default:
      return expression.least === 0 || isFinite(expression.item, known)
  }
}

/** The smallest set that the property closes; a rule is looked at again when one that it refers to has come in. */
function rulesThat(holds: Holds, rules: Rules): Set<string> {
  const users = new Map<string, string[]>()
  for (const [name, body] of rules) {
    for (const other of new Set(rulesWithin(body))) {
      const known = users.get(other)
      if (known === undefined) users.set(other, [name])
      else known.push(name)
    }
  }
  const found = new Set<string>()
  const waiting = [...rules.keys()]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const body = rules.get(name)
    if (found.has(name) || body === undefined || !holds(body, found)) continue
    found.add(name)
    for (const user of users.get(name) ?? []) waiting.push(user)
  }
  return found
}
