import type { JsonSchema } from '../../base/shape.ts'

/* The words in which is said what the control API takes and gives, as JSON Schema. A test holds real answers against that. */

export const TEXT: JsonSchema = { type: 'string' }
export const NUMBER: JsonSchema = { type: 'number' }
export const WHOLE: JsonSchema = { type: 'integer' }
export const COUNT: JsonSchema = { type: 'integer', minimum: 0 }
export const FLAG: JsonSchema = { type: 'boolean' }
export const TEXT_OR_NULL: JsonSchema = { type: ['string', 'null'] }
export const NUMBER_OR_NULL: JsonSchema = { type: ['number', 'null'] }

export function list(items: JsonSchema): JsonSchema {
  return { type: 'array', items }
}

export function mapOf(values: JsonSchema): JsonSchema {
  return { type: 'object', additionalProperties: values }
}

/** Every field is there; more may come with later versions. */
export function record(
  fields: Record<string, JsonSchema>,
  optional: Record<string, JsonSchema> = {},
): JsonSchema {
  return { type: 'object', required: Object.keys(fields), properties: { ...fields, ...optional } }
}
