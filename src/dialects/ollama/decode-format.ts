import { isMap } from '../../base/is-map.ts'
import type { OutputFormat } from '../../tasks/chat-task.ts'
import { invalidField, type Fields } from '../fields.ts'

/** `"json"` or a JSON Schema; what cannot be enforced is refused, never left to chance (BR-08). */
export function decodeFormat(body: Fields): OutputFormat | undefined {
  const format = body['format']
  if (format === undefined || format === null || format === '') return undefined
  if (format === 'json') return { type: 'json-object' }
  if (isMap(format)) return { type: 'json-schema', name: 'format', schema: format, strict: true }
  throw invalidField('format', `'format' must be "json" or a JSON Schema as an object.`)
}
