import type { ModelyardError } from '../../base/errors.ts'
import { eventData, DONE } from './event-data.ts'

const TYPES: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
}

/** Codes that clients know by OpenAI's own name. */
const CODES: Partial<Record<ModelyardError['code'], string>> = {
  unauthorized: 'invalid_api_key',
  queue_full: 'rate_limit_exceeded',
}

/** BR-33: LangChain sends ids of another tokenizer unless told not to. */
const TOKEN_HINT = ' Send text (in LangChain: check_embedding_ctx_length=False).'

function errorType(status: number): string {
  return TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
}

/** Clients match on the words "maximum context length"; both numbers are in it (BR-07). */
function errorMessage({ code, message, details }: ModelyardError): string {
  const { promptTokens, contextSize, isLeast, feature } = details
  if (feature === 'token-input') return message + TOKEN_HINT
  if (code !== 'context_length_exceeded') return message
  if (typeof promptTokens !== 'number' || typeof contextSize !== 'number') return message
  return (
    `This model's maximum context length is ${contextSize} tokens, ` +
    `but the request has ${isLeast === true ? 'at least ' : ''}${promptTokens} tokens. Shorten it, or load the model with a larger context.`
  )
}

/** What every error object of the API holds. */
export interface ErrorFields {
  message: string
  type: string
  param: string | null
  code: string
}

export function errorFields(error: ModelyardError, status: number): ErrorFields {
  const { param } = error.details
  return {
    message: errorMessage(error),
    type: errorType(status),
    param: typeof param === 'string' ? param : null,
    code: CODES[error.code] ?? error.code,
  }
}

/** `{error: {message, type, param, code}}` as JSON; for failed loads also `failure`, the kind. */
export function encodeError(error: ModelyardError, status: number): string {
  const { failure } = error.details
  // Ours: why a load failed, so that a command attached to a server ends as one without.
  const more = typeof failure === 'string' ? { failure } : {}
  return JSON.stringify({ error: { ...errorFields(error, status), ...more } })
}

/** The end of a broken stream: the error as the only terminal event, then the terminator, never a finish chunk (BR-09). */
export function encodeStreamError(error: ModelyardError, status: number): string {
  return eventData(encodeError(error, status)) + DONE
}
