import { describe, expect, it } from 'vitest'
import { errorStatus as commonStatus } from '../../server/error-status.ts'
import { ModelyardError, type ErrorCode } from '../../base/errors.ts'
import { encodeError, errorStatus } from './encode-error.ts'

function statusOf(error: ModelyardError): number {
  return errorStatus(error) ?? commonStatus(error)
}

function body(error: ModelyardError): unknown {
  return JSON.parse(encodeError(error, statusOf(error), 'req_1'))
}

describe('errors in Anthropic’s shape', () => {
  it.each([
    ['invalid_request', 400, 'invalid_request_error'],
    ['unsupported', 400, 'invalid_request_error'],
    ['unauthorized', 401, 'authentication_error'],
    ['forbidden', 403, 'permission_error'],
    ['model_not_found', 404, 'not_found_error'],
    ['not_found', 404, 'not_found_error'],
    ['method_not_allowed', 405, 'invalid_request_error'],
    ['payload_too_large', 413, 'request_too_large'],
    ['unsupported_media_type', 415, 'invalid_request_error'],
    ['queue_full', 429, 'rate_limit_error'],
    ['internal', 500, 'api_error'],
    ['engine_failed', 500, 'api_error'],
    ['engine_missing', 500, 'api_error'],
    ['timeout', 504, 'timeout_error'],
    ['model_too_large', 507, 'api_error'],
    ['insufficient_memory', 529, 'overloaded_error'],
    ['shutting_down', 529, 'overloaded_error'],
  ] as const)('%s is a %d %s', (code, status, type) => {
    const error = new ModelyardError(code, 'Why.')
    expect(statusOf(error)).toBe(status)
    expect(body(error)).toEqual({ type: 'error', error: { type, message: 'Why.' }, request_id: 'req_1' })
  })

  it('what all others answer with 503 is overload here, and nothing else is', () => {
    const codes: ErrorCode[] = [
      'aborted', 'checksum_mismatch', 'config_invalid', 'context_length_exceeded', 'disk_full', 'download_failed',
      'engine_failed', 'engine_missing', 'forbidden', 'home_in_use', 'insufficient_memory', 'internal',
      'invalid_request', 'method_not_allowed', 'model_file_invalid', 'model_load_failed', 'model_not_found',
      'model_too_large', 'not_found', 'payload_too_large', 'queue_full', 'request_crashes_worker', 'run_cut',
      'shutting_down', 'slow_reader', 'timeout', 'unauthorized', 'unsupported', 'unsupported_media_type',
      'worker_exited',
    ] // prettier-ignore
    const errors = codes.map((code) => new ModelyardError(code, ''))
    expect(errors.filter((error) => statusOf(error) === 529)).toEqual(
      errors.filter((error) => commonStatus(error) === 503),
    )
    expect(errors.filter((error) => [501, 503].includes(statusOf(error)))).toEqual([])
  })

  it('a feature that the engine lacks is a 400, as a prefill is in the API', () => {
    const details = { feature: 'prefill', httpStatus: 501 }
    expect(statusOf(new ModelyardError('unsupported', '', { details }))).toBe(400)
  })

  it('a thread is refused in the words after which the official tool runner goes on without one', () => {
    const error = new ModelyardError('unsupported', 'No threads.', { details: { param: 'thread' } })
    expect(body(error)).toMatchObject({
      error: { details: { error_code: 'thread_unsupported_request', unsupported: [] } },
    })
  })

  it('BR-07: a context that is too long has both numbers and the words that clients match on', () => {
    const details = { promptTokens: 2100, contextSize: 128 }
    const error = new ModelyardError('context_length_exceeded', 'Too long.', { details })
    expect(statusOf(error)).toBe(400)
    expect(body(error)).toMatchObject({
      error: {
        message: expect.stringMatching(
          /^prompt is too long: 2100 tokens > 128 .*maximum context length/,
        ) as string,
      },
    })
  })

  it('BR-73: a lack of memory never looks like a context that is too long', () => {
    const error = new ModelyardError('insufficient_memory', 'Needs 6 GiB, 2 GiB are free.')
    expect(encodeError(error, 529, 'req_1')).not.toMatch(/context|too long/)
  })
})
