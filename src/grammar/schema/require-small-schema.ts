import { refuseSchema } from '../refuse-grammar.ts'

const MOST_DEPTH = 100
const MOST_NODES = 20_000
const MOST_CHARACTERS = 256 * 1024

/**
 * Refuses what would keep the compiler busy, before anything else looks at the schema; without recursion, because depth is one of the
 * things to be refused. @throws ModelyardError `invalid_request`
 */
export function requireSmallSchema(schema: unknown): void {
  const waiting: { value: unknown; depth: number }[] = [{ value: schema, depth: 0 }]
  let nodes = 0
  let characters = 0
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, depth } = next
    if (typeof value === 'string') characters += value.length
    if (++nodes > MOST_NODES) refuseSchema('', `it has more than ${MOST_NODES} values.`)
    if (depth > MOST_DEPTH) refuseSchema('', `it is nested deeper than ${MOST_DEPTH}.`)
    if (typeof value === 'object' && value !== null) {
      for (const [key, child] of Object.entries(value)) {
        characters += key.length
        waiting.push({ value: child, depth: depth + 1 })
      }
    }
    if (characters > MOST_CHARACTERS) {
      refuseSchema('', `its texts are longer than ${MOST_CHARACTERS} characters in all.`)
    }
  }
}
