import type { ModelyardError } from '../../base/errors.ts'
import { eventData } from './event-data.ts'

const TYPES: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** What the common table answers with 503: this API calls it overload. */
const OVERLOAD: ReadonlySet<ModelyardError['code']> = new Set<ModelyardError['code']>([
  'aborted',
  'insufficient_memory',
  'model_load_failed',
  'run_cut',
  'shutting_down',
  'worker_exited',
])

/** This API has neither a 501 nor a 503: what cannot be done at all is the request's fault, what cannot be done now is overload. */
export function errorStatus({ code }: ModelyardError): number | undefined {
  if (code === 'unsupported') return 400
  if (code === 'engine_missing') return 500
  return OVERLOAD.has(code) ? 529 : undefined
}

function errorType(status: number): string {
  return TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
}

/** Clients shorten the conversation when they read "prompt is too long", in just these words. */
function errorMessage({ code, message, details }: ModelyardError): string {
  const { promptTokens, contextSize } = details
  if (code !== 'context_length_exceeded') return message
  if (typeof promptTokens !== 'number' || typeof contextSize !== 'number')
    return `prompt is too long: ${message}`
  return (
    `prompt is too long: ${promptTokens} tokens > ${contextSize} maximum; ` +
    `the model's maximum context length is ${contextSize} tokens. Shorten it, or load the model with a larger context.`
  )
}

/** The tool runner of the official SDK asks for a thread at first, and goes on without one when it is refused in these words. */
const NO_THREADS = { error_code: 'thread_unsupported_request', unsupported: [] }

function errorJson(error: ModelyardError, status: number, requestId: string): string {
  const noThreads = error.code === 'unsupported' && error.details['param'] === 'thread'
  const facts = {
    type: errorType(status),
    message: errorMessage(error),
    ...(noThreads ? { details: NO_THREADS } : {}),
  }
  return `"error":${JSON.stringify(facts)},"request_id":${JSON.stringify(requestId)}`
}

/** `{type: "error", error: {type, message}, request_id}` */
export function encodeError(error: ModelyardError, status: number, requestId: string): string {
  return `{"type":"error",${errorJson(error, status, requestId)}}`
}

/** The end of a broken stream: no `message_stop` comes after it (BR-09). */
export function encodeStreamError(error: ModelyardError, status: number, requestId: string): string {
  return eventData('error', `,${errorJson(error, status, requestId)}`)
}
