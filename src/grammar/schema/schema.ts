import { isMap } from '../../base/is-map.ts'

/** A JSON Schema as it came: `true` and `false` are schemas, too. */
export type Schema = boolean | SchemaObject
export type SchemaObject = Readonly<Record<string, unknown>>

export const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'] as const
export type JsonType = (typeof TYPES)[number]

export function isObject(value: unknown): value is SchemaObject {
  return isMap(value)
}

/** Says nothing about which values are right. */
const ANNOTATIONS = new Set(
  [
    '$anchor $comment $defs $id $schema $vocabulary contentEncoding contentMediaType default definitions deprecated description',
    'discriminator example examples externalDocs nullable readOnly title writeOnly xml',
  ].flatMap((line) => line.split(' ')),
)

/** What a value of each type is held to. */
export const KEYWORDS_OF_TYPES: Readonly<
  Record<'object' | 'array' | 'string' | 'number', readonly string[]>
> = {
  object: [
    'additionalProperties',
    'maxProperties',
    'minProperties',
    'patternProperties',
    'properties',
    'propertyNames',
    'required',
    'unevaluatedProperties',
    'dependentRequired',
    'dependentSchemas',
    'dependencies',
  ],
  array: [
    'additionalItems',
    'contains',
    'items',
    'maxContains',
    'maxItems',
    'minContains',
    'minItems',
    'prefixItems',
    'unevaluatedItems',
    'uniqueItems',
  ],
  string: ['format', 'maxLength', 'minLength', 'pattern'],
  number: ['exclusiveMaximum', 'exclusiveMinimum', 'maximum', 'minimum', 'multipleOf'],
}

const GENERAL = ['$ref', 'allOf', 'anyOf', 'const', 'enum', 'oneOf', 'type']
const KNOWN = new Set([...GENERAL, ...Object.values(KEYWORDS_OF_TYPES).flat()])

/** Never to be held, whatever the type. */
export const IMPOSSIBLE_KEYWORDS: readonly string[] = [
  '$dynamicRef',
  '$recursiveRef',
  'else',
  'if',
  'not',
  'then',
]

export function isAnnotation(keyword: string): boolean {
  return ANNOTATIONS.has(keyword)
}

/** Neither a keyword that is held or refused, nor an annotation, nor somebody's own by its name. */
export function isUnknown(keyword: string): boolean {
  return !KNOWN.has(keyword) && !ANNOTATIONS.has(keyword) && !keyword.startsWith('x-')
}

/** A part of a JSON pointer. */
export function pointerStep(key: string | number): string {
  return `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
}
