import { formatDuration } from '../../base/durations.ts'
import { ModelyardError, type ErrorCode } from '../../base/errors.ts'
import { isMap, parseMap } from '../../base/is-map.ts'

const LONGEST_MESSAGE = 500

/** What an endpoint said instead of an answer. */
export interface Refusal {
  url: string
  status: number
  body: string
  /** Milliseconds, from its `Retry-After`. */
  retryAfter?: number
}

/** Longest silence before an answer and in it. */
export interface Silence {
  milliseconds: number
  /** Of the model, where one says how long. */
  option?: 'firstByteTimeout' | 'wholeAnswerTimeout'
}

/** Worth another try, here or at another endpoint: nothing is wrong with the request. */
export function isPassing(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501)
}

/** A refusal in our own words, with the endpoint's reason. */
export function refusalError(model: string, { url, status, body, retryAfter }: Refusal): ModelyardError {
  const reason = reasonOf(body)
  const { code, message } = judged(model, status, reason)
  const options = { details: { url, status, reason }, ...(retryAfter !== undefined && { retryAfter }) }
  return new ModelyardError(
    code,
    `${message} (${url}: HTTP ${status}${reason === '' ? '' : `, ${reason}`})`,
    options,
  )
}

function judged(model: string, status: number, reason: string): { code: ErrorCode; message: string } {
  if (status < 300) {
    return {
      code: 'engine_failed',
      message: `The upstream of model "${model}" took the request and sent no answer; does its server speak as OpenAI's API does?`,
    }
  }
  if (status < 400) {
    return {
      code: 'engine_failed',
      message: `The upstream of model "${model}" sends its requests elsewhere, which is not followed; set its url to the address itself.`,
    }
  }
  if (status === 401 || status === 403) {
    return {
      code: 'engine_failed',
      message: `The upstream of model "${model}" refused our key; check its key or keyEnvironment.`,
    }
  }
  if (status === 404) {
    return {
      code: 'engine_failed',
      message: `The upstream of model "${model}" does not know it; check its url and remoteModel.`,
    }
  }
  if (status === 429 || status === 503) {
    return { code: 'queue_full', message: `The upstream of model "${model}" is busy; try again later.` }
  }
  if (status === 501)
    return { code: 'unsupported', message: `The upstream of model "${model}" does not do this.` }
  if (status >= 500) return { code: 'engine_failed', message: `The upstream of model "${model}" failed.` }
  const code = /context.?length|maximum context|too long/i.test(reason)
    ? 'context_length_exceeded'
    : 'invalid_request'
  return { code, message: `The upstream of model "${model}" refused the request.` }
}

/** OpenAI's `{error: {message}}`, FastAPI's `{detail}`, or whatever else is short enough to show. */
function reasonOf(body: string): string {
  return reasonIn(parseMap(body) ?? {}).slice(0, LONGEST_MESSAGE)
}

function reasonIn({ error, message, detail }: Readonly<Record<string, unknown>>): string {
  for (const said of [error, message, detail]) {
    if (typeof said === 'string') return said
    if (isMap(said) && typeof said['message'] === 'string') return said['message']
    if (Array.isArray(said)) return (said as unknown[]).filter(isMap).map(wrongField).join('; ')
  }
  return ''
}

/** What is wrong with one field; never its value, which may be a user's text. */
function wrongField({ loc: place, msg: message }: Readonly<Record<string, unknown>>): string {
  const field = Array.isArray(place) ? place.join('.') : 'the request'
  return `${field}: ${typeof message === 'string' ? message : 'is wrong'}`
}

/** An error that was sent as if it were an answer: LM Studio does so for routes that it does not have. */
export function errorAsAnswer(
  model: string,
  document: Readonly<Record<string, unknown>>,
): ModelyardError | undefined {
  if (document['error'] === undefined || document['error'] === null) return undefined
  const reason = reasonIn(document).slice(0, LONGEST_MESSAGE)
  return new ModelyardError(
    'engine_failed',
    `The upstream of model "${model}" sent an error as its answer: ${reason === '' ? 'no reason given' : reason}`,
    { details: { status: 200, reason } },
  )
}

/** An answer in another form than that of OpenAI's API. @param what came instead of what was asked for */
export function unreadable(model: string, what: string): ModelyardError {
  return new ModelyardError(
    'engine_failed',
    `The upstream of model "${model}" sent ${what}; does its server speak as OpenAI's API does?`,
  )
}

/** What the endpoint turned out not to have, in words for the request that found it out. */
export function lacksAbility(model: string, ability: string, refusal: ModelyardError): ModelyardError {
  const { url, status, reason } = refusal.details
  const told = [`HTTP ${String(status)}`, reason].filter((part) => part !== '').join(', ')
  return new ModelyardError(
    'unsupported',
    `The upstream of model "${model}" cannot do this (${ability}): ${typeof url === 'string' ? `${url}: ` : ''}${told}`,
    { details: { ...refusal.details, ability }, cause: refusal },
  )
}

/** Nobody answered there, or not in time. */
export function unreachable(
  model: string,
  url: string,
  { milliseconds: silence, option }: Silence,
  cause: unknown,
): ModelyardError {
  if (codeOf(cause) === 'UND_ERR_HEADERS_TIMEOUT') {
    const message = `The upstream of model "${model}" at ${url} did not begin to answer within ${formatDuration(silence)}.${howToWait(option)}`
    return new ModelyardError('timeout', message, { details: { url, silence }, cause })
  }
  const reason = cause instanceof Error ? cause.message : String(cause)
  const message = `The upstream of model "${model}" cannot be reached at ${url}: ${reason}. Is it running?`
  return new ModelyardError('engine_failed', message, { details: { url }, cause })
}

/** What broke a connection in an answer that had begun; what else was thrown stays what it is. Servers send the headers of a stream before they work. */
export function interrupted(
  model: string,
  { milliseconds: silence, option }: Silence,
  cause: unknown,
): unknown {
  if (codeOf(cause) === undefined && !isGarbled(cause)) return cause
  if (codeOf(cause) === 'UND_ERR_BODY_TIMEOUT') {
    const message = `The upstream of model "${model}" has sent nothing more for ${formatDuration(silence)} and was given up.${howToWait(option)}`
    return new ModelyardError('timeout', message, { details: { silence }, cause })
  }
  const reason = cause instanceof Error ? cause.message : String(cause)
  const message = `The upstream of model "${model}" broke off its answer: ${reason}. Try again; its own log may say why.`
  return new ModelyardError('engine_failed', message, { cause })
}

/** undici gives what it cannot parse no code. */
function isGarbled(cause: unknown): boolean {
  return cause instanceof Error && cause.name === 'HTTPParserError'
}

function howToWait(option: Silence['option']): string {
  return option === undefined ? '' : ` Set its option ${option} to more where it needs longer.`
}

function codeOf(cause: unknown): unknown {
  return cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined
}

/** Nothing was asked for but plain bytes. */
export function compressed(model: string, url: string, encoding: string): ModelyardError {
  const message = `The upstream of model "${model}" at ${url} answers compressed (${encoding}), though that was not asked for. Switch compression off there, or in the proxy before it.`
  return new ModelyardError('engine_failed', message, { details: { url, encoding } })
}
