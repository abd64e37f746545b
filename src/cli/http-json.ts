import { request, type IncomingMessage } from 'node:http'
import { ModelyardError, type ErrorCode } from '../base/errors.ts'
import { isMap } from '../base/is-map.ts'
import { isErrorCode } from './exit-codes.ts'

export interface LocalRequest {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Sent as JSON. */
  body?: unknown
  /** Sent instead of `body`, as it is. */
  form?: { type: string; data: Uint8Array }
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
}

/**
 * Asks a server on this machine and hands over its answer, body unread. Plain node:http: it has no time limit of its own, which a
 * long prefill would meet (fetch gives up after 300 s without headers), and costs no import.
 * @throws ModelyardError the server's own error, read from its body; `aborted`
 */
export async function openLocal(url: string, options: LocalRequest = {}): Promise<IncomingMessage> {
  const response = await send(url, options)
  const status = response.statusCode ?? 0
  if (status >= 200 && status < 300) return response
  throw errorFromBody(status, await readText(response), retryAfterOf(response))
}

/** Milliseconds until another try makes sense. */
function retryAfterOf({ headers }: IncomingMessage): number | undefined {
  const milliseconds = Number(headers['retry-after-ms'])
  return headers['retry-after-ms'] === undefined || Number.isNaN(milliseconds) ? undefined : milliseconds
}

/** An answer's body as it is. */
export async function readBytes(response: IncomingMessage): Promise<Uint8Array> {
  const pieces: Buffer[] = []
  for await (const piece of response) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

/** An answer's body as JSON. */
export async function readJson(response: IncomingMessage): Promise<unknown> {
  const text = await readText(response)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ModelyardError('internal', "The server's answer is not JSON.", { cause: error })
  }
}

function send(url: string, { method, body, form, headers, signal }: LocalRequest): Promise<IncomingMessage> {
  const payload = form?.data ?? (body === undefined ? undefined : JSON.stringify(body))
  const content = payload === undefined ? {} : { 'content-type': form?.type ?? 'application/json' }
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        method: method ?? (payload === undefined ? 'GET' : 'POST'),
        headers: { accept: 'application/json', ...content, ...headers },
        agent: false,
        ...(signal === undefined ? {} : { signal }),
      },
      resolve,
    )
    outgoing.on('error', (error) => reject(connectionError(url, error, signal)))
    outgoing.end(payload)
  })
}

function connectionError(url: string, error: Error, signal: AbortSignal | undefined): ModelyardError {
  if (signal?.aborted === true) return new ModelyardError('aborted', 'Interrupted.', { cause: error })
  return new ModelyardError(
    'internal',
    `The server at ${new URL(url).origin} did not answer (${error.message}). See whether it still runs: modelyard doctor`,
    { cause: error },
  )
}

async function readText(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8')
  let text = ''
  for await (const chunk of response) text += chunk as string
  return text
}

/** Codes that the server writes under OpenAI's own names. */
const FOREIGN_CODES: Record<string, ErrorCode> = {
  invalid_api_key: 'unauthorized',
  rate_limit_exceeded: 'queue_full',
}

interface WireError {
  code?: unknown
  message?: unknown
  details?: unknown
  /** Kind of a failed load, in OpenAI's shape, which has no details. */
  failure?: unknown
}

/** The error of a body in OpenAI's shape or in the control API's, with its code where it is one of ours. */
export function errorFromBody(status: number, text: string, retryAfter?: number): ModelyardError {
  const wire = wireErrorOf(text)
  const code = isErrorCode(wire?.code) ? wire.code : (FOREIGN_CODES[String(wire?.code)] ?? 'internal')
  const message = typeof wire?.message === 'string' ? wire.message : `The server answered ${status}.`
  const details = {
    ...(isMap(wire?.details) && wire.details),
    ...(typeof wire?.failure === 'string' && { failure: wire.failure }),
  }
  return new ModelyardError(code, message, { details, ...(retryAfter !== undefined && { retryAfter }) })
}

function wireErrorOf(text: string): WireError | undefined {
  try {
    const body: unknown = JSON.parse(text)
    const error: unknown = isMap(body) ? (body.error ?? body) : undefined
    return isMap(error) ? error : undefined
  } catch {
    return undefined
  }
}
