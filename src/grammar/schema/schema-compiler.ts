import { choice, rule, type Expression } from '../expression.ts'
import { JsonRules } from '../json-rules.ts'
import { refuseSchema } from '../refuse-grammar.ts'
import type { RuleBook } from '../rule-book.ts'
import { arrayRule, type CompileInner } from './array-rule.ts'
import { enumRule } from './enum-rule.ts'
import { areExclusive } from './exclusive-schemas.ts'
import { flatten, merge, type Alternatives, type FlatSchema, type FlattenWith } from './flat-schema.ts'
import { numberRule } from './number-rule.ts'
import { objectRule } from './object-rule.ts'
import { KeywordReader } from './read-keywords.ts'
import { SchemaDocument } from './schema-document.ts'
import { KEYWORDS_OF_TYPES, pointerStep, TYPES, type JsonType, type Schema } from './schema.ts'
import { stringRule } from './string-rule.ts'
import { WorkLimit } from './work-limit.ts'

const MOST_COMPILED = 5_000
/** For each value of an enumeration that becomes a rule. */
const STEPS_OF_CHOICE = 100
/** Schemas inside schemas, over references and alternatives. */
const MOST_NESTED = 200
/** Of `oneOf`, where each is compared with each. */
const MOST_RIVALS = 100

/** Makes the rules of one schema, each schema inside it once. */
export class SchemaCompiler {
  readonly #book: RuleBook
  readonly #json: JsonRules
  readonly #using: FlattenWith
  /** Rule names of schemas by their text; an empty name is a schema that no value fits. */
  readonly #names = new Map<string, string>()
  #compiled = 0
  #depth = 0

  constructor(book: RuleBook, schema: Schema, strict: boolean) {
    this.#book = book
    this.#json = new JsonRules(book)
    this.#using = { document: new SchemaDocument(schema), strict, work: new WorkLimit() }
  }

  /** The rule of the schema; undefined when no value fits it. References into the whole hold wherever they stand. */
  readonly compile: CompileInner = (schema, where) => {
    const key = JSON.stringify(schema)
    const known = this.#names.get(key)
    if (known !== undefined) return known === '' ? undefined : rule(known)
    const name = this.#book.reserve('schema')
    this.#names.set(key, name)
    const body = this.#bodyOf(flatten(schema, where, this.#using), where)
    // A body that refers to itself needs a rule even where nothing fits; the check of the whole finds it.
    this.#book.define(name, body ?? choice())
    if (body === undefined) this.#names.set(key, '')
    return body === undefined ? undefined : rule(name)
  }

  #bodyOf(flat: FlatSchema | undefined, where: string): Expression | undefined {
    if (flat === undefined) return undefined
    if (++this.#compiled > MOST_COMPILED)
      refuseSchema(where, `it unfolds to more than ${MOST_COMPILED} schemas.`)
    if (++this.#depth > MOST_NESTED) refuseSchema(where, `it unfolds to more than ${MOST_NESTED} levels.`)
    const [group, ...others] = flat.groups
    const rest = { keywords: flat.keywords, groups: others }
    const body = group === undefined ? this.#plain(flat, where) : this.#alternatives(rest, group)
    this.#depth--
    return body
  }

  #alternatives(rest: FlatSchema, group: Alternatives): Expression | undefined {
    if (group.keyword === 'oneOf' && this.#using.strict) this.#requireExclusive(group)
    const bodies = group.schemas.flatMap((schema, index) => {
      const place = group.where + pointerStep(index)
      const body = this.#bodyOf(merge(rest, flatten(schema, place, this.#using), this.#using.work), place)
      return body === undefined ? [] : [this.#book.add('option', body)]
    })
    return bodies.length === 0 ? undefined : choice(...bodies)
  }

  #requireExclusive({ schemas, where }: Alternatives): void {
    if (schemas.length > MOST_RIVALS)
      refuseSchema(where, `it has ${schemas.length} schemas; use "anyOf" for more than ${MOST_RIVALS}.`)
    schemas.forEach((schema, index) => {
      const rival = schemas
        .slice(0, index)
        .findIndex((other) => !areExclusive(other, schema, where, this.#using))
      if (rival === -1) return
      refuseSchema(
        where,
        `a value could fit both ${rival} and ${index}; use "anyOf", or tell them apart by a constant in a required property.`,
      )
    })
  }

  /** Without alternatives: each type for itself. */
  #plain(flat: FlatSchema, where: string): Expression | undefined {
    const reader = new KeywordReader(flat, where)
    const types = typesOf(reader)
    if (reader.has('enum')) {
      this.#using.work.spend(STEPS_OF_CHOICE * (reader.list('enum')?.length ?? 0))
      return enumRule(reader, types)
    }
    if (types.length === TYPES.length) return this.#json.value
    const bodies = types.flatMap((type) => this.#ofType(type, reader) ?? [])
    return bodies.length === 0 ? undefined : choice(...bodies)
  }

  #ofType(type: JsonType, reader: KeywordReader): Expression | undefined {
    switch (type) {
      case 'object':
        return isFree(reader, 'object')
          ? this.#json.object
          : objectRule(reader, this.#json, this.#book, this.compile)
      case 'array':
        return isFree(reader, 'array')
          ? this.#json.array
          : arrayRule(reader, this.#json, this.#book, this.compile)
      case 'string':
        return stringRule(reader, this.#json, this.#using.strict)
      case 'number':
      case 'integer':
        return numberRule(reader, this.#json, type === 'integer')
      case 'boolean':
        return this.#json.boolean
      default:
        return { kind: 'text', text: 'null' }
    }
  }
}

function isFree(reader: KeywordReader, type: 'object' | 'array'): boolean {
  return KEYWORDS_OF_TYPES[type].every((keyword) => !reader.has(keyword))
}

/** Stated, or those that the keywords are about; all where there is no hint. */
function typesOf(reader: KeywordReader): JsonType[] {
  if (!reader.has('type')) {
    if (reader.has('enum')) return [...TYPES]
    const meant = TYPES.filter(
      (type) => isAbout(type) && KEYWORDS_OF_TYPES[type].some((keyword) => reader.has(keyword)),
    )
    return meant.length > 0 ? meant : [...TYPES]
  }
  const stated = [reader.value('type')].flat()
  if (stated.some((type) => !TYPES.includes(type as JsonType))) {
    reader.refuse('type', `must be one of ${TYPES.join(', ')}, or a list of them.`)
  }
  return TYPES.filter((type) => stated.includes(type) && !(type === 'integer' && stated.includes('number')))
}

function isAbout(type: JsonType): type is keyof typeof KEYWORDS_OF_TYPES {
  return Object.hasOwn(KEYWORDS_OF_TYPES, type)
}
