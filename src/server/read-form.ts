import type { IncomingMessage } from 'node:http'
import { ModelyardError } from '../base/errors.ts'
import type { FormFile } from '../dialects/form.ts'

/** More fields than any route has. */
const MOST_FIELDS = 200

/** The body's content type. @throws ModelyardError `unsupported_media_type` for all but a form */
export function requireForm({ headers }: IncomingMessage): string {
  const encoding = headers['content-encoding']
  const type = headers['content-type']
  if (encoding !== undefined && encoding !== 'identity') {
    throw unsupported('Compressed bodies are not supported; send a plain form.')
  }
  if (type !== undefined && /^\s*multipart\/form-data\s*;.*boundary=/i.test(type)) return type
  throw unsupported('The body must be sent as "Content-Type: multipart/form-data", with its boundary.')
}

/**
 * The fields of a form: texts, files as {@link FormFile}, lists for names that come more than once. Parsed by Node's own reader of
 * forms. @throws ModelyardError `invalid_request`
 */
export async function parseForm(bytes: Buffer, contentType: string): Promise<Record<string, unknown>> {
  const form = await formOf(bytes, contentType)
  const fields: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  let count = 0
  for (const [name, value] of form) {
    if (++count > MOST_FIELDS) throw invalid(`The form has more than ${MOST_FIELDS} fields.`)
    const entry = typeof value === 'string' ? value : await fileOf(value)
    const before = fields[name]
    if (before === undefined) fields[name] = entry
    else fields[name] = Array.isArray(before) ? [...(before as unknown[]), entry] : [before, entry]
  }
  return { ...fields }
}

async function formOf(bytes: Buffer, contentType: string): Promise<FormData> {
  try {
    return await new Response(Uint8Array.from(bytes), { headers: { 'content-type': contentType } }).formData()
  } catch (cause) {
    throw invalid(
      'The body is no form that can be read: a part or the boundary at its end is damaged.',
      cause,
    )
  }
}

async function fileOf(file: File): Promise<FormFile> {
  return { name: file.name, data: new Uint8Array(await file.arrayBuffer()) }
}

function unsupported(message: string): ModelyardError {
  return new ModelyardError('unsupported_media_type', message)
}

function invalid(message: string, cause?: unknown): ModelyardError {
  return new ModelyardError('invalid_request', message, { cause })
}
