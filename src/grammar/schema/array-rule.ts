import { NOTHING, optional, repeat, sequence, text, type Expression } from '../expression.ts'
import type { JsonRules } from '../json-rules.ts'
import type { RuleBook } from '../rule-book.ts'
import { schemaList } from './flat-schema.ts'
import type { KeywordReader } from './read-keywords.ts'
import { asSchema } from './schema-document.ts'
import { pointerStep, type Schema } from './schema.ts'

/** Gives the rule of a schema inside; undefined when no value fits it. */
export type CompileInner = (schema: Schema, where: string) => Expression | undefined

/** Arrays whose first items have their own schemas and the others one; undefined when there are none. */
export function arrayRule(
  reader: KeywordReader,
  json: JsonRules,
  book: RuleBook,
  compile: CompileInner,
): Expression | undefined {
  const [least, most] = reader.counts('minItems', 'maxItems')
  reader.refuseAll(['contains', 'minContains', 'maxContains'])
  reader.refuseAll(['unevaluatedItems'], (value) => value === true || value === false)
  reader.refuseAll(['uniqueItems'], (value) => value === false || most <= 1)
  const first = firstItems(reader, compile)
  const other = otherItem(reader, json, compile, first.length < least)
  const possible = other === undefined || first.ended ? first.items.length : Infinity
  const limit = Math.min(most, possible)
  if (least > limit) return undefined
  return rowOf(first.items, first.ended ? undefined : other, [least, limit], json, book)
}

/** Ends where an item has no value that fits. */
function firstItems(
  reader: KeywordReader,
  compile: CompileInner,
): { items: Expression[]; ended: boolean; length: number } {
  const where = reader.where('prefixItems')
  const given = reader.has('prefixItems') ? schemaList(reader.value('prefixItems'), where) : []
  const compiled = given.map((schema, index) => compile(schema, where + pointerStep(index)))
  const end = compiled.indexOf(undefined)
  const items = compiled.slice(0, end === -1 ? compiled.length : end) as Expression[]
  return { items, ended: end !== -1, length: items.length }
}

/** Without a word on them there are no more items than those that are listed, unless there have to be. */
function otherItem(
  reader: KeywordReader,
  json: JsonRules,
  compile: CompileInner,
  needed: boolean,
): Expression | undefined {
  if (reader.has('items'))
    return compile(asSchema(reader.value('items'), reader.where('items')), reader.where('items'))
  return reader.has('prefixItems') && !needed ? undefined : json.value
}

function rowOf(
  first: readonly Expression[],
  other: Expression | undefined,
  [least, most]: readonly [number, number],
  json: JsonRules,
  book: RuleBook,
): Expression {
  if (most === 0) return sequence(text('['), json.space, text(']'))
  if (first.length === 0) return json.list('[', other ?? NOTHING, ']', least, most)
  const beyond =
    other === undefined
      ? NOTHING
      : repeat(
          sequence(json.comma, other),
          Math.max(0, least - first.length),
          Math.max(0, most - first.length),
        )
  const items = first.slice(0, most).reduceRight<Expression>((rest, item, index) => {
    const here = index === 0 ? sequence(item, rest) : sequence(json.comma, item, rest)
    return book.add('items', index < least ? here : optional(here))
  }, beyond)
  return sequence(text('['), json.space, items, json.space, text(']'))
}
