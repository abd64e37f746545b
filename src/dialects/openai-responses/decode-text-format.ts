import type { OutputFormat } from '../../tasks/chat-task.ts'
import {
  asFields,
  asString,
  invalidField,
  notImplemented,
  optionalBoolean,
  optionalChoice,
  optionalFields,
  type Fields,
} from '../fields.ts'

/** `text`: the format of the answer; plain text is no format. */
export function decodeTextFormat(body: Fields): OutputFormat | undefined {
  const text = optionalFields(body, 'text')
  if (text === undefined) return undefined
  const verbosity = optionalChoice(text, 'verbosity', ['low', 'medium', 'high'], 'text.')
  if (verbosity === 'low' || verbosity === 'high') {
    throw notImplemented('text.verbosity', `This server supports no other 'text.verbosity' than 'medium'.`)
  }
  const format = optionalFields(text, 'format', 'text.')
  return format === undefined ? undefined : decodeFormat(format)
}

function decodeFormat(fields: Fields): OutputFormat | undefined {
  switch (fields['type']) {
    case 'text':
      return undefined
    case 'json_object':
      return { type: 'json-object' }
    case 'json_schema':
      return {
        type: 'json-schema',
        name: asString(fields['name'], 'text.format.name'),
        schema: asFields(fields['schema'], 'text.format.schema'),
        strict: optionalBoolean(fields, 'strict', 'text.format.') ?? false,
      }
    default:
      throw invalidField(
        'text.format.type',
        `'text.format.type' must be 'text', 'json_object' or 'json_schema'.`,
      )
  }
}
