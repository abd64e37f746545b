import { invalidField, notImplemented, optionalBoolean, optionalFields, type Fields } from '../fields.ts'

export interface StreamOptions {
  stream: boolean
  includeUsage: boolean
}

export function decodeStreamOptions(body: Fields): StreamOptions {
  const stream = optionalBoolean(body, 'stream') ?? false
  const options = optionalFields(body, 'stream_options')
  if (options === undefined) return { stream, includeUsage: false }
  if (!stream) {
    throw invalidField('stream_options', `'stream_options' is only allowed when 'stream' is true.`)
  }
  if (optionalBoolean(options, 'include_obfuscation', 'stream_options.')) {
    throw notImplemented('stream_options.include_obfuscation', 'This server does not obfuscate streams.')
  }
  return { stream, includeUsage: optionalBoolean(options, 'include_usage', 'stream_options.') ?? false }
}
