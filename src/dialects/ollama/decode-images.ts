import type { ContentPart } from '../../tasks/message.ts'
import { decodeBase64, decodeDataUri } from '../data-uri.ts'
import { asString, invalidField, optionalArray, type Fields } from '../fields.ts'

/** First bytes of the kinds of images, as hex. */
const KINDS: readonly [mediaType: string, start: RegExp][] = [
  ['image/png', /^89504e47/],
  ['image/jpeg', /^ffd8ff/],
  ['image/gif', /^47494638/],
  ['image/webp', /^52494646.{8}57454250/],
  ['image/bmp', /^424d/],
]

/** `images`: bare base64, since the API has no place for a media type; a data URI is understood too. */
export function decodeImages(fields: Fields, parent = ''): ContentPart[] {
  return (optionalArray(fields, 'images', parent) ?? []).map((value, index) =>
    decodeImage(value, `${parent}images[${index}]`),
  )
}

function decodeImage(value: unknown, param: string): ContentPart {
  const text = asString(value, param)
  const isUri = /^(data|https?):/i.test(text.slice(0, 6))
  const data = isUri ? decodeDataUri(text, param).data : decodeBase64(text, param)
  if (data.length === 0) throw invalidField(param, `'${param}' holds no data.`)
  const mediaType = mediaTypeOf(data)
  if (mediaType !== undefined) return { type: 'image', mediaType, data }
  throw invalidField(
    param,
    `'${param}' is no image of a kind that is known here (PNG, JPEG, GIF, WebP, BMP).`,
  )
}

function mediaTypeOf(data: Uint8Array): string | undefined {
  const start = Buffer.from(data.subarray(0, 12)).toString('hex')
  return KINDS.find(([, pattern]) => pattern.test(start))?.[0]
}
