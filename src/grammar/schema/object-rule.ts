import { choice, NOTHING, optional, repeat, sequence, text, type Expression } from '../expression.ts'
import type { JsonRules } from '../json-rules.ts'
import type { RuleBook } from '../rule-book.ts'
import type { CompileInner } from './array-rule.ts'
import { otherKey } from './other-key.ts'
import type { KeywordReader } from './read-keywords.ts'
import { asSchema } from './schema-document.ts'
import { isObject, pointerStep } from './schema.ts'

interface Member {
  pair: Expression
  isRequired: boolean
}

/** What an object may hold beside its members. */
interface Others {
  pair: Expression
  least: number
  most: number
}

const UNHELD = ['dependencies', 'dependentRequired', 'dependentSchemas', 'patternProperties', 'propertyNames']

/**
 * Objects with their members in the order of the schema, each at most once. Without a word on others there are none, unless no member
 * is named at all.
 */
export function objectRule(
  reader: KeywordReader,
  json: JsonRules,
  book: RuleBook,
  compile: CompileInner,
): Expression | undefined {
  reader.refuseAll(UNHELD)
  reader.refuseAll(['unevaluatedProperties'], (value) => value === true || value === false)
  const members = membersOf(reader, json, compile)
  if (members === undefined) return undefined
  const names = Object.keys(propertiesOf(reader))
  const others = othersOf(reader, json, book, compile, [...names, ...requiredOf(reader)])
  const limited = withinCounts(reader, members, others)
  return limited === undefined ? undefined : objectOf(limited.members, limited.others, json, book)
}

function propertiesOf(reader: KeywordReader): Readonly<Record<string, unknown>> {
  const properties = reader.value('properties') ?? {}
  return isObject(properties) ? properties : reader.refuse('properties', 'must be an object of schemas.')
}

function requiredOf(reader: KeywordReader): string[] {
  return (reader.list('required') ?? []).map((name) =>
    typeof name === 'string' ? name : reader.refuse('required', 'must be a list of names.'),
  )
}

/** Undefined when one that is required has no value that fits. */
function membersOf(reader: KeywordReader, json: JsonRules, compile: CompileInner): Member[] | undefined {
  const properties = new Map(Object.entries(propertiesOf(reader)))
  const required = new Set(requiredOf(reader))
  const unnamed = [...required].filter((name) => !properties.has(name))
  for (const name of unnamed) properties.set(name, reader.value('additionalProperties') ?? true)
  const members: Member[] = []
  for (const [name, schema] of properties) {
    const where = unnamed.includes(name)
      ? reader.where('required')
      : reader.where('properties') + pointerStep(name)
    const value = compile(asSchema(schema, where), where)
    const isRequired = required.has(name)
    if (value === undefined && isRequired) return undefined
    const key = text(JSON.stringify(name))
    if (value !== undefined)
      members.push({ pair: sequence(key, json.space, text(':'), json.space, value), isRequired })
  }
  return members
}

function othersOf(
  reader: KeywordReader,
  json: JsonRules,
  book: RuleBook,
  compile: CompileInner,
  names: readonly string[],
): Others | undefined {
  const where = reader.where('additionalProperties')
  const usual = !reader.has('properties')
  const schema = asSchema(reader.value('additionalProperties') ?? usual, where)
  const value = compile(schema, where)
  if (value === undefined) return undefined
  const key =
    names.length === 0
      ? json.string
      : otherKey(names, book, () =>
          reader.refuse('additionalProperties', 'names of properties beside it may have 200 characters.'),
        )
  return { pair: sequence(key, json.space, text(':'), json.space, value), least: 0, most: Infinity }
}

/** Undefined when the number of properties cannot be met. Others may come twice, so that they are no way to reach a number above one. */
function withinCounts(
  reader: KeywordReader,
  members: Member[],
  others: Others | undefined,
): { members: Member[]; others: Others | undefined } | undefined {
  const [least, most] = reader.counts('minProperties', 'maxProperties')
  const required = members.filter(({ isRequired }) => isRequired)
  if (required.length > most || least > most) return undefined
  if (most < members.length) {
    if (most > required.length || least > required.length)
      reader.refuse('maxProperties', 'it cannot be held below the number of named properties.')
    return { members: required, others: undefined }
  }
  const limited = others === undefined ? undefined : { ...others, most: most - members.length }
  if (least <= required.length) return { members, others: limited }
  if (limited !== undefined && least === required.length + 1 && limited.most > 0) {
    return { members, others: { ...limited, least: 1 } }
  }
  if (limited === undefined && least === members.length) {
    return { members: members.map(({ pair }) => ({ pair, isRequired: true })), others: undefined }
  }
  if (limited === undefined && least > members.length) return undefined
  return reader.refuse('minProperties', 'it can be held up to the number of required properties.')
}

function objectOf(
  members: readonly Member[],
  others: Others | undefined,
  json: JsonRules,
  book: RuleBook,
): Expression {
  const tails = tailsOf(members, others, json, book)
  const firstRequired = members.findIndex(({ isRequired }) => isRequired)
  const beginnings = firstRequired === -1 ? members : members.slice(0, firstRequired + 1)
  const begun = beginnings.map(({ pair }, index) => sequence(pair, tails[index + 1] ?? NOTHING, json.space))
  const mayBeOthers = firstRequired === -1 && others !== undefined && others.most > 0
  if (mayBeOthers) begun.push(sequence(othersFirst(others, json), json.space))
  const mayBeEmpty = firstRequired === -1 && (others?.least ?? 0) === 0
  const inner = begun.length === 0 ? NOTHING : mayBeEmpty ? optional(choice(...begun)) : choice(...begun)
  return sequence(text('{'), json.space, inner, text('}'))
}

function othersFirst({ pair, least, most }: Others, json: JsonRules): Expression {
  return sequence(pair, repeat(sequence(json.comma, pair), Math.max(0, least - 1), most - 1))
}

/** What may follow when everything before a member is decided and something is there already; one rule each, the last for others. */
function tailsOf(
  members: readonly Member[],
  others: Others | undefined,
  json: JsonRules,
  book: RuleBook,
): Expression[] {
  const end =
    others === undefined || others.most === 0
      ? NOTHING
      : repeat(sequence(json.comma, others.pair), others.least, others.most)
  const tails: Expression[] = [book.add('members', end)]
  for (const { pair, isRequired } of members.toReversed()) {
    const [next = NOTHING] = tails
    const here = sequence(json.comma, pair)
    tails.unshift(book.add('members', sequence(isRequired ? here : optional(here), next)))
  }
  return tails
}
