import type { OutputFormat } from '../tasks/chat-task.ts'
import { checkGrammar } from './check-grammar.ts'
import { compileSchema, jsonObjectGrammar } from './compile-schema.ts'
import type { Grammar } from './expression.ts'
import { parseGrammar } from './parse-grammar.ts'
import { printGrammar } from './print-grammar.ts'
import { reachableRules } from './reachable-rules.ts'
import { requireSmallSchema } from './schema/require-small-schema.ts'

/** A form of answers that was checked. */
export interface OutputGrammar {
  grammar: Grammar
  /** The same in writing, as an engine takes it. */
  gbnf: string
}

const MOST_KEPT = 32
/** Longer formats are compiled anew for each request. */
const LONGEST_KEPT = 32 * 1024
const kept = new Map<string, OutputGrammar>()

/**
 * The grammar of all answers of the format. One that somebody wrote is read and written anew, so that an engine never meets what was
 * not checked. The last ones are remembered, because the next request often asks for the same. @throws ModelyardError
 * `invalid_request` for what cannot be held
 */
export function outputGrammar(format: OutputFormat): OutputGrammar {
  if (format.type === 'json-schema') requireSmallSchema(format.schema)
  const key = JSON.stringify(format)
  const known = kept.get(key)
  if (known !== undefined) return known
  const grammar = grammarOf(format)
  const made = { grammar, gbnf: printGrammar(grammar) }
  if (key.length <= LONGEST_KEPT) keep(key, made)
  return made
}

function keep(key: string, made: OutputGrammar): void {
  kept.set(key, made)
  const [oldest] = kept.keys()
  if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest)
}

function grammarOf(format: OutputFormat): Grammar {
  if (format.type === 'json-object') return jsonObjectGrammar()
  if (format.type === 'json-schema') return compileSchema(format.schema, { strict: format.strict })
  const grammar = parseGrammar(format.grammar)
  checkGrammar(grammar)
  return { root: grammar.root, rules: reachableRules(grammar) }
}
