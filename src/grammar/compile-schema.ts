import { checkGrammar } from './check-grammar.ts'
import type { Grammar } from './expression.ts'
import { printRules } from './print-grammar.ts'
import { reachableRules } from './reachable-rules.ts'
import { refuseSchema } from './refuse-grammar.ts'
import { RuleBook } from './rule-book.ts'
import { requireSmallSchema } from './schema/require-small-schema.ts'
import { SchemaCompiler } from './schema/schema-compiler.ts'
import { asSchema } from './schema/schema-document.ts'

export interface CompileOptions {
  /**
   * Default true: whatever cannot be held is refused. Otherwise unknown formats and keywords are passed over, as JSON Schema has it,
   * and `oneOf` is held as `anyOf` is. All other keywords are held or refused in both.
   */
  strict?: boolean
  /** Begins the name of every rule, so that rules can stand in a larger grammar beside others. Letters, digits and `-`. */
  prefix?: string
}

/**
 * The grammar of the JSON texts that fit a JSON Schema (draft 2020-12 and, where they differ in names only, older ones). Every text of
 * the grammar fits; some texts that fit are left out: members come in the order of the schema, numbers have 15 digits, white space is
 * short. @throws ModelyardError `invalid_request` with the JSON pointer of the keyword that cannot be held
 */
export function compileSchema(schema: unknown, { strict = true, prefix = '' }: CompileOptions = {}): Grammar {
  requireSmallSchema(schema)
  const whole = asSchema(schema, '')
  const book = new RuleBook(prefix)
  const found = new SchemaCompiler(book, whole, strict).compile(whole, '')
  if (found === undefined) return refuseSchema('', 'no value fits it.')
  const root = prefix === '' ? 'root' : `${prefix}root`
  book.define(root, found)
  const grammar = { root, rules: reachableRules({ root, rules: book.rules }) }
  checkGrammar(grammar)
  return grammar
}

/**
 * The same as GBNF to be put into a larger grammar.
 * @returns `root`, the name of the rule that stands for a text that fits, and `rules`, lines of GBNF that define it
 */
export function schemaRules(schema: unknown, options: CompileOptions = {}): { root: string; rules: string } {
  const { root, rules } = compileSchema(schema, options)
  return { root, rules: printRules(rules) }
}

/** Whatever JSON says is an object. */
export function jsonObjectGrammar(): Grammar {
  return compileSchema({ type: 'object' })
}
