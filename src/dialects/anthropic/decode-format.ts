import type { OutputFormat } from '../../tasks/chat-task.ts'
import { asFields, invalidField, optionalChoice, optionalFields, type Fields } from '../fields.ts'

/** `output_config.format`, or `output_format` as the beta had it. */
export function decodeFormat(body: Fields): OutputFormat | undefined {
  const config = optionalFields(body, 'output_config') ?? {}
  // How much effort goes into an answer is the model's own affair here; the thinking budget limits it.
  optionalChoice(config, 'effort', ['low', 'medium', 'high', 'xhigh', 'max'], 'output_config.')
  const format = optionalFields(config, 'format', 'output_config.')
  if (format !== undefined) return decodeSchema(format, 'output_config.format')
  const older = optionalFields(body, 'output_format')
  return older === undefined ? undefined : decodeSchema(older, 'output_format')
}

/** The API promises output that fits the schema, so it is a strict one. */
function decodeSchema(fields: Fields, param: string): OutputFormat {
  if (optionalChoice(fields, 'type', ['json_schema'], `${param}.`) === undefined) {
    throw invalidField(`${param}.type`, `'${param}.type' is missing.`)
  }
  const schema = asFields(fields['schema'], `${param}.schema`)
  return { type: 'json-schema', name: 'output', schema, strict: true }
}
