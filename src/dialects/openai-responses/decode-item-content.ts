import type { ContentPart } from '../../tasks/message.ts'
import { decodeImageUri } from '../data-uri.ts'
import { asArray, asFields, asString, invalidField, notImplemented, optionalChoice } from '../fields.ts'

const DETAILS = ['auto', 'low', 'high', 'original'] as const

/** The content of an item: a text, or parts. A string when it holds nothing but text. */
export function decodeItemContent(value: unknown, param: string): string | ContentPart[] {
  if (typeof value === 'string') return value
  const parts = asArray(value, param).map((part, index) => decodePart(part, `${param}[${index}]`))
  if (parts.every((part) => part.type === 'text')) return parts.map((part) => part.text).join('')
  return parts
}

function decodePart(value: unknown, param: string): ContentPart {
  const fields = asFields(value, param)
  switch (fields['type']) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: asString(fields['text'], `${param}.text`) }
    case 'refusal':
      return { type: 'text', text: asString(fields['refusal'], `${param}.refusal`) }
    case 'input_image':
      return decodeImage(fields, param)
    case 'input_audio':
    case 'input_file':
      throw notImplemented(param, `Parts of type '${fields['type']}' are not supported.`)
    default:
      throw invalidField(
        `${param}.type`,
        `'${param}.type' must be one of 'input_text', 'input_image', 'output_text', 'refusal'.`,
      )
  }
}

function decodeImage(fields: Record<string, unknown>, param: string): ContentPart {
  optionalChoice(fields, 'detail', DETAILS, `${param}.`)
  if (fields['file_id'] !== undefined && fields['file_id'] !== null) {
    throw notImplemented(`${param}.file_id`, 'This server keeps no files; send the image as a data URI.')
  }
  return decodeImageUri(asString(fields['image_url'], `${param}.image_url`), `${param}.image_url`)
}
