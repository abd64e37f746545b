import type { Grammar } from './expression.ts'
import { rulesWithin } from './rules-within.ts'

/** The rules that a text of the root can be made of, in the order in which they are met. */
export function reachableRules({ root, rules }: Grammar): Grammar['rules'] {
  const reached: Map<string, NonNullable<ReturnType<Grammar['rules']['get']>>> = new Map()
  const waiting = [root]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const body = rules.get(name)
    if (body === undefined || reached.has(name)) continue
    reached.set(name, body)
    for (const other of rulesWithin(body)) waiting.push(other)
  }
  return reached
}
