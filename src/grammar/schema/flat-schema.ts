import { refuseSchema } from '../refuse-grammar.ts'
import { mergeKeyword } from './merge-keywords.ts'
import { asSchema, type SchemaDocument } from './schema-document.ts'
import {
  IMPOSSIBLE_KEYWORDS,
  isAnnotation,
  isUnknown,
  pointerStep,
  type Schema,
  type SchemaObject,
} from './schema.ts'
import type { WorkLimit } from './work-limit.ts'

/** One of several must hold. */
export interface Alternatives {
  keyword: 'anyOf' | 'oneOf'
  schemas: readonly Schema[]
  where: string
}

/** A schema whose references and `allOf` are worked in: all keywords hold together, and one of each group of alternatives. */
export interface FlatSchema {
  /** What the keywords demand, with the place that each came from. */
  keywords: ReadonlyMap<string, { value: unknown; where: string }>
  groups: readonly Alternatives[]
}

const MOST_MERGED = 64
const STEPS_OF_SCHEMA = 100
const STEPS_OF_PROPERTY = 20

export interface FlattenWith {
  document: SchemaDocument
  strict: boolean
  work: WorkLimit
}

/** @returns undefined for a schema that no value fits. @throws invalid_request naming the keyword */
export function flatten(
  schema: Schema,
  where: string,
  using: FlattenWith,
  depth = 0,
): FlatSchema | undefined {
  if (schema === false) return undefined
  if (schema === true) return { keywords: new Map(), groups: [] }
  if (depth > MOST_MERGED)
    refuseSchema(where, `references and "allOf" are nested deeper than ${MOST_MERGED}.`)
  using.work.spend(STEPS_OF_SCHEMA)
  const keywords = new Map<string, { value: unknown; where: string }>()
  const groups: Alternatives[] = []
  const others: (FlatSchema | undefined)[] = []
  for (const [keyword, value] of Object.entries(schema)) {
    const place = where + pointerStep(keyword)
    if (isAnnotation(keyword) || value === undefined) continue
    if (IMPOSSIBLE_KEYWORDS.includes(keyword))
      refuseSchema(place, 'this keyword cannot be held by a grammar.')
    if (isUnknown(keyword)) {
      if (using.strict) refuseSchema(place, 'this keyword is not known.')
    } else if (keyword === '$ref') {
      others.push(flatten(using.document.resolve(value, place), targetOf(value), using, depth + 1))
    } else if (keyword === 'allOf') {
      for (const [index, part] of schemaList(value, place).entries())
        others.push(flatten(part, place + pointerStep(index), using, depth + 1))
    } else if (keyword === 'anyOf' || keyword === 'oneOf') {
      groups.push({ keyword, schemas: schemaList(value, place), where: place })
    } else if (keyword === 'const') {
      others.push({ keywords: new Map([['enum', { value: [value], where: place }]]), groups: [] })
    } else keywords.set(...positional(keyword, value, schema, place))
  }
  return others.reduce<FlatSchema | undefined>((all, other) => merge(all, other, using.work), {
    keywords,
    groups,
  })
}

/** Where the schema stands that is referred to. */
function targetOf(reference: unknown): string {
  return String(reference).slice(1)
}

/** Lists of items had other names before the draft of 2020. */
function positional(
  keyword: string,
  value: unknown,
  { items }: SchemaObject,
  where: string,
): [keyword: string, { value: unknown; where: string }] {
  if (!Array.isArray(items)) return [keyword, { value, where }]
  const renamed = keyword === 'items' ? 'prefixItems' : keyword === 'additionalItems' ? 'items' : keyword
  return [renamed, { value, where }]
}

/** What both demand; undefined when nothing can fit both. */
export function merge(
  some: FlatSchema | undefined,
  other: FlatSchema | undefined,
  work: WorkLimit,
): FlatSchema | undefined {
  if (some === undefined || other === undefined) return undefined
  const keywords = new Map(some.keywords)
  for (const [keyword, { value, where }] of other.keywords) {
    const own = keywords.get(keyword)
    const merged = own === undefined ? value : mergeKeyword(keyword, own.value, value, where, work)
    keywords.set(keyword, { value: merged, where })
  }
  closeProperties(keywords, some, other, work)
  alignItems(keywords, some, other)
  return { keywords, groups: [...some.groups, ...other.groups] }
}

/** A property that one side names is held by the other side's `additionalProperties`, which does not know it. */
function closeProperties(
  keywords: Map<string, { value: unknown; where: string }>,
  some: FlatSchema,
  other: FlatSchema,
  work: WorkLimit,
): void {
  const found = keywords.get('properties')
  if (found === undefined) return
  const properties = new Map(Object.entries(found.value as Record<string, unknown>))
  work.spend(properties.size * STEPS_OF_PROPERTY)
  for (const [from, to] of [
    [some, other],
    [other, some],
  ] as const) {
    const others = to.keywords.get('additionalProperties')
    if (others === undefined || others.value === true) continue
    const known = (to.keywords.get('properties')?.value ?? {}) as Record<string, unknown>
    for (const name of Object.keys(from.keywords.get('properties')?.value ?? {})) {
      if (!Object.hasOwn(known, name)) properties.set(name, both(properties.get(name), others.value))
    }
  }
  keywords.set('properties', { value: Object.fromEntries(properties), where: found.where })
}

/** Where one side has a list of first items, the other side's word on all items holds for them as well. */
function alignItems(
  keywords: Map<string, { value: unknown; where: string }>,
  some: FlatSchema,
  other: FlatSchema,
): void {
  const [left, right] = [firstItemsOf(some), firstItemsOf(other)]
  if (left === undefined && right === undefined) return
  const where = (some.keywords.get('prefixItems') ?? other.keywords.get('prefixItems'))?.where ?? ''
  const length = Math.max(left?.length ?? 0, right?.length ?? 0)
  const value = Array.from({ length }, (_, index) =>
    both(left?.[index] ?? itemsOf(some), right?.[index] ?? itemsOf(other)),
  )
  keywords.set('prefixItems', { value, where })
}

function firstItemsOf({ keywords }: FlatSchema): readonly unknown[] | undefined {
  const found = keywords.get('prefixItems')
  return found === undefined ? undefined : schemaList(found.value, found.where)
}

function itemsOf({ keywords }: FlatSchema): unknown {
  return keywords.get('items')?.value ?? true
}

function both(some: unknown, other: unknown): unknown {
  if (some === true || other === true) return some === true ? other : some
  return other === false || some === false ? false : { allOf: [some, other] }
}

export function schemaList(value: unknown, where: string): Schema[] {
  if (!Array.isArray(value) || value.length === 0) return refuseSchema(where, 'must be a list of schemas.')
  return value.map((item, index) => asSchema(item, where + pointerStep(index)))
}
