import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { Deadlines } from '../base/deadlines.ts'
import { ModelyardError } from '../base/errors.ts'
import { formatBytes } from '../base/bytes.ts'
import { checkJsonDepth } from './json-depth.ts'

const JSON_TYPE = /^\s*(application\/([\w.-]+\+)?json|text\/json)\s*(;|$)/i

function bad(message: string, details: Record<string, unknown> = {}): ModelyardError {
  return new ModelyardError('invalid_request', message, { details })
}

function tooLarge(limit: number): ModelyardError {
  return new ModelyardError('payload_too_large', `The request's body is larger than ${formatBytes(limit)}.`)
}

/** @throws ModelyardError `unsupported_media_type` */
export function checkContentType({ headers }: IncomingMessage, anyType: boolean): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new ModelyardError(
      'unsupported_media_type',
      'Compressed bodies are not supported; send plain JSON.',
    )
  }
  const type = headers['content-type']
  if (anyType || type === undefined || JSON_TYPE.test(type)) return
  throw new ModelyardError(
    'unsupported_media_type',
    'The body must be sent as "Content-Type: application/json".',
  )
}

/**
 * The whole body, of so many bytes at most. @param silences how long nothing may come
 * @throws ModelyardError `payload_too_large`, `invalid_request` (408 after a long silence), `aborted`
 */
export function readBody(request: IncomingMessage, most: number, silences: Deadlines): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > most) return Promise.reject(tooLarge(most))
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const silence = silences.begin(() =>
      finish(bad('The upload stalled before its end.', { httpStatus: 408 })),
    )
    function onData(chunk: Buffer): void {
      size += chunk.length
      if (size > most) return finish(tooLarge(most))
      chunks.push(chunk)
      if (chunks.length > 1) silences.renew(silence)
    }
    function onEnd(): void {
      finish()
    }
    function onClose(): void {
      finish(new ModelyardError('aborted', 'The client closed the connection.'))
    }
    function finish(error?: ModelyardError): void {
      silences.end(silence)
      request.off('data', onData).off('end', onEnd).off('close', onClose)
      if (error !== undefined) reject(error)
      else resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks))
    }
    request.on('data', onData).on('end', onEnd).on('close', onClose)
  })
}

/** The body as JSON. Messages name positions, never text. @throws ModelyardError `invalid_request` */
export function parseJson(bytes: Buffer, depth: number): unknown {
  if (bytes.length === 0) throw bad('The body is empty; a JSON object is expected.')
  if (!isUtf8(bytes)) throw bad('The body is not valid UTF-8.')
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
  } catch (error) {
    throw bad(`The body is not valid JSON${positionOf(error)}.`)
  }
  checkJsonDepth(value, depth)
  return value
}

function positionOf(error: unknown): string {
  const { message } = error as Error
  if (message.startsWith('Unexpected end')) return ': it ends too early'
  const position = /at position (\d+)/.exec(message)?.[1]
  return position === undefined ? '' : ` (position ${position})`
}
