import { flatten, type FlatSchema, type FlattenWith } from './flat-schema.ts'
import { canonical } from './merge-keywords.ts'
import { isOfType } from './enum-rule.ts'
import { isObject, TYPES, type JsonType, type Schema } from './schema.ts'

const DEEPEST = 4

/** Whether no value can fit both: then one of them holding means exactly one. False where that cannot be seen. */
export function areExclusive(
  some: Schema,
  other: Schema,
  where: string,
  using: FlattenWith,
  depth = 0,
): boolean {
  const left = flatten(some, where, using)
  const right = flatten(other, where, using)
  if (left === undefined || right === undefined) return true
  const types = overlap(typesOf(left), typesOf(right))
  if (types.length === 0) return true
  const onlyObjects = types.every((type) => type === 'object')
  return (
    haveOtherValues(left, right, using) || (onlyObjects && differInProperty(left, right, where, using, depth))
  )
}

/** The types that the schema allows by what it says of types and values. */
function typesOf({ keywords }: FlatSchema): JsonType[] {
  const stated = keywords.has('type') ? [keywords.get('type')?.value].flat() : TYPES
  const values = keywords.get('enum')?.value
  const types = TYPES.filter(
    (type) => stated.includes(type) || (type === 'integer' && stated.includes('number')),
  )
  return Array.isArray(values)
    ? types.filter((type) => values.some((value) => isOfType(value, [type])))
    : types
}

function overlap(some: readonly JsonType[], other: readonly JsonType[]): JsonType[] {
  return some.filter((type) => other.includes(type) || (type === 'number' && other.includes('integer')))
}

function haveOtherValues(some: FlatSchema, other: FlatSchema, { work }: FlattenWith): boolean {
  const [left, right] = [some.keywords.get('enum')?.value, other.keywords.get('enum')?.value]
  if (!Array.isArray(left) || !Array.isArray(right)) return false
  const others = new Set(right.map((value) => canonical(value, work)))
  return left.every((value) => !others.has(canonical(value, work)))
}

/** A property that both demand and that cannot be the same, or one that the first demands and the second does not have. */
function differInProperty(
  some: FlatSchema,
  other: FlatSchema,
  where: string,
  using: FlattenWith,
  depth: number,
): boolean {
  if (depth > DEEPEST) return false
  const [left, right] = [propertiesOf(some), propertiesOf(other)]
  const [leftNeeds, rightNeeds] = [requiredOf(some), requiredOf(other)]
  if (leftNeeds.some((name) => isClosed(other) && !Object.hasOwn(right, name))) return true
  if (rightNeeds.some((name) => isClosed(some) && !Object.hasOwn(left, name))) return true
  return leftNeeds
    .filter((name) => rightNeeds.includes(name) && Object.hasOwn(left, name) && Object.hasOwn(right, name))
    .some((name) => areExclusive(left[name] as Schema, right[name] as Schema, where, using, depth + 1))
}

function propertiesOf({ keywords }: FlatSchema): Readonly<Record<string, unknown>> {
  const properties = keywords.get('properties')?.value
  return isObject(properties) ? properties : {}
}

function requiredOf({ keywords }: FlatSchema): string[] {
  const required = keywords.get('required')?.value
  return (Array.isArray(required) ? required : []) as string[]
}

function isClosed({ keywords }: FlatSchema): boolean {
  return keywords.get('additionalProperties')?.value === false
}
