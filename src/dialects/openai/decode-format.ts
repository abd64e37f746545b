import type { OutputFormat } from '../../tasks/chat-task.ts'
import {
  asFields,
  asString,
  invalidField,
  optionalBoolean,
  optionalFields,
  optionalString,
  type Fields,
} from '../fields.ts'

/** `response_format`, or the extension `grammar` (GBNF). Plain text is no format. */
export function decodeFormat(body: Fields): OutputFormat | undefined {
  const format = decodeResponseFormat(optionalFields(body, 'response_format'))
  const grammar = optionalString(body, 'grammar')
  if (grammar === undefined) return format
  if (format !== undefined)
    throw invalidField('grammar', `'grammar' and 'response_format' exclude each other.`)
  return { type: 'grammar', grammar }
}

function decodeResponseFormat(fields: Fields | undefined): OutputFormat | undefined {
  switch (fields?.['type']) {
    case undefined:
      if (fields === undefined) return undefined
      throw invalidField('response_format.type', `'response_format.type' is missing.`)
    case 'text':
      return undefined
    case 'json_object':
      return { type: 'json-object' }
    case 'json_schema':
      return decodeSchema(asFields(fields?.['json_schema'], 'response_format.json_schema'))
    default:
      throw invalidField(
        'response_format.type',
        `'response_format.type' must be 'text', 'json_object' or 'json_schema'.`,
      )
  }
}

function decodeSchema(fields: Fields): OutputFormat {
  const path = 'response_format.json_schema.'
  return {
    type: 'json-schema',
    name: asString(fields['name'], `${path}name`),
    schema: asFields(fields['schema'], `${path}schema`),
    strict: optionalBoolean(fields, 'strict', path) ?? false,
  }
}
