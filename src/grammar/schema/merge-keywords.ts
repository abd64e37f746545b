import { refuseSchema } from '../refuse-grammar.ts'
import { isObject } from './schema.ts'
import type { WorkLimit } from './work-limit.ts'

type Merge = (some: unknown, other: unknown, where: string, work: WorkLimit) => unknown

const asNumber = (value: unknown, where: string): number =>
  typeof value === 'number' ? value : refuseSchema(where, 'must be a number.')
const larger: Merge = (some, other, where) => Math.max(asNumber(some, where), asNumber(other, where))
const smaller: Merge = (some, other, where) => Math.min(asNumber(some, where), asNumber(other, where))
const together: Merge = (some, other, _, work) => (same(some, other, work) ? some : { allOf: [some, other] })

/** That a value is looked at, beside its characters. */
const STEPS_OF_VALUE = 20

/** What it takes that two values of one keyword both hold. */
const MERGES: Readonly<Record<string, Merge>> = {
  additionalProperties: together,
  enum: commonValues,
  exclusiveMaximum: smaller,
  exclusiveMinimum: larger,
  items: together,
  maxItems: smaller,
  maxLength: smaller,
  maxProperties: smaller,
  maximum: smaller,
  minItems: larger,
  minLength: larger,
  minProperties: larger,
  minimum: larger,
  prefixItems: (some) => some, // Brought together with the other items, by place.
  properties: mergeProperties,
  required: (some, other, where) => [...new Set([...listed(some, where), ...listed(other, where)])],
  type: (some, other) => commonTypes([some].flat(), [other].flat()),
  uniqueItems: (some, other) => some === true || other === true,
}

/** @throws invalid_request where two values cannot be brought together */
export function mergeKeyword(
  keyword: string,
  some: unknown,
  other: unknown,
  where: string,
  work: WorkLimit,
): unknown {
  if (same(some, other, work)) return some
  const merge = MERGES[keyword]
  if (merge !== undefined) return merge(some, other, where, work)
  return refuseSchema(where, 'two values of this keyword cannot be held together.')
}

/** Every integer is a number. */
function commonTypes(some: readonly unknown[], others: readonly unknown[]): unknown[] {
  const has = (types: readonly unknown[], type: unknown): boolean =>
    types.includes(type) || (type === 'integer' && types.includes('number'))
  return [...new Set([...some, ...others])].filter((type) => has(some, type) && has(others, type))
}

function commonValues(some: unknown, other: unknown, where: string, work: WorkLimit): unknown {
  const others = new Set(listed(other, where).map((value) => canonical(value, work)))
  return listed(some, where).filter((value) => others.has(canonical(value, work)))
}

function mergeProperties(some: unknown, other: unknown, where: string, work: WorkLimit): unknown {
  if (!isObject(some) || !isObject(other)) return refuseSchema(where, 'must be an object of schemas.')
  const merged = new Map(Object.entries(some))
  for (const [name, schema] of Object.entries(other)) {
    const own = merged.get(name)
    merged.set(name, own === undefined || same(own, schema, work) ? schema : { allOf: [own, schema] })
  }
  return Object.fromEntries(merged)
}

function listed(value: unknown, where: string): readonly unknown[] {
  return Array.isArray(value) ? value : refuseSchema(where, 'must be a list.')
}

/** Whether two JSON values are the same, whatever the order of their keys. */
function same(some: unknown, other: unknown, work: WorkLimit): boolean {
  return canonical(some, work) === canonical(other, work)
}

function sorted(_: string, inner: unknown): unknown {
  if (!isObject(inner)) return inner
  return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** A JSON value as text, whatever the order of its keys. */
export function canonical(value: unknown, work: WorkLimit): string {
  const text = typeof value === 'object' ? JSON.stringify(value, sorted) : JSON.stringify(value)
  work.spend(STEPS_OF_VALUE + text.length)
  return text
}
