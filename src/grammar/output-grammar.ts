import type { OutputFormat } from '../tasks/chat-task.ts'
import { checkGrammar } from './check-grammar.ts'
import { compileSchema, jsonObjectGrammar } from './compile-schema.ts'
import type { Grammar } from './expression.ts'
import { parseGrammar } from './parse-grammar.ts'
import { printGrammar } from './print-grammar.ts'
import { reachableRules } from './reachable-rules.ts'

/**
 * GBNF that every answer of the format fits. A grammar that somebody wrote is read and written anew, so that an engine never meets
 * what was not checked. @throws ModelyardError `invalid_request` for what cannot be held
 */
export function outputGrammar(format: OutputFormat): string {
  return printGrammar(grammarOf(format))
}

function grammarOf(format: OutputFormat): Grammar {
  if (format.type === 'json-object') return jsonObjectGrammar()
  if (format.type === 'json-schema') return compileSchema(format.schema, { strict: format.strict })
  return checkedGrammar(format.grammar)
}

/** @throws ModelyardError `invalid_request` */
function checkedGrammar(written: string): Grammar {
  const grammar = parseGrammar(written)
  checkGrammar(grammar)
  return { root: grammar.root, rules: reachableRules(grammar) }
}
