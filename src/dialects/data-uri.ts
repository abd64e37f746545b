import type { ContentPart } from '../tasks/message.ts'
import { invalidField } from './fields.ts'

/** Bytes that came inside a request. */
export interface EmbeddedData {
  /** Lower case, without parameters. */
  mediaType: string
  data: Uint8Array
}

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/

/**
 * Decodes `data:image/png;base64,…` or its percent-encoded form, of any length. @throws invalid_request: other URLs are never
 * fetched by the server (H6), bare base64 lacks its media type, empty data is no image.
 */
export function decodeDataUri(uri: string, param: string): EmbeddedData {
  if (/^https?:/i.test(uri.slice(0, 6))) {
    throw invalidField(
      param,
      `'${param}' is a remote URL, which this server does not fetch; send a data URI.`,
    )
  }
  const comma = uri.indexOf(',')
  if (!/^data:/i.test(uri.slice(0, 5)) || comma < 0) {
    throw invalidField(param, `'${param}' must be a data URI such as data:image/png;base64,…`)
  }
  const [mediaType = '', ...parameters] = uri.slice(5, comma).toLowerCase().split(';')
  const base64 = parameters.some((parameter) => parameter.trim() === 'base64')
  const data = base64 ? decodeBase64(uri.slice(comma + 1), param) : decodePercent(uri.slice(comma + 1), param)
  if (data.length === 0) throw invalidField(param, `'${param}' holds no data.`)
  return { mediaType: mediaType.trim(), data }
}

/** A data URI that must hold an image. @throws invalid_request */
export function decodeImageUri(uri: string, param: string): ContentPart & { type: 'image' } {
  const { mediaType, data } = decodeDataUri(uri, param)
  if (mediaType.startsWith('image/')) return { type: 'image', mediaType, data }
  throw invalidField(param, `'${param}' must hold an image, but its media type is not image/….`)
}

/** Strict, unlike Buffer's decoder, which stops at the first odd character. White space is allowed. */
export function decodeBase64(text: string, param: string): Uint8Array {
  const compact = /\s/.test(text) ? text.replaceAll(/\s/g, '') : text
  if (!BASE64.test(compact) || compact.replace(/=+$/, '').length % 4 === 1) {
    throw invalidField(param, `'${param}' is not valid base64.`)
  }
  // A copy: small Buffers are windows into a pool that others use, and these bytes travel to another process.
  return new Uint8Array(Buffer.from(compact, 'base64'))
}

function decodePercent(text: string, param: string): Uint8Array {
  const bytes: number[] = []
  for (let at = 0; at < text.length; at++) {
    const hex = text[at] === '%' ? text.slice(at + 1, at + 3) : undefined
    if (hex === undefined) bytes.push(text.charCodeAt(at) & 0xff)
    else if (/^[\da-f]{2}$/i.test(hex)) bytes.push(Number.parseInt(hex, 16))
    else throw invalidField(param, `'${param}' has a broken percent sign at position ${at} of its data.`)
    if (hex !== undefined) at += 2
  }
  return Uint8Array.from(bytes)
}
