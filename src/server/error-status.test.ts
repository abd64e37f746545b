import { describe, expect, it } from 'vitest'
import { ModelyardError, type ErrorCode, type ModelyardErrorOptions } from '../base/errors.ts'
import { errorStatus, retryHeaders } from './error-status.ts'

function status(code: ErrorCode, options?: ModelyardErrorOptions): number {
  return errorStatus(new ModelyardError(code, 'x', options))
}

describe('from codes to statuses', () => {
  it.each([
    ['images', 400],
    ['tools', 400],
    ['task', 400],
    ['reasoning', 400],
    ['logprobs', 501],
    ['grammar', 501],
  ])('a lack of %s is a %d', (feature, expected) => {
    expect(status('unsupported', { details: { feature } })).toBe(expected)
  })

  it('what the edge says exactly wins over the code', () => {
    expect(status('unsupported', { details: { httpStatus: 501 } })).toBe(501)
    expect(status('invalid_request', { details: { httpStatus: 408 } })).toBe(408)
  })

  it.each([
    ['queue_full', 429, 1500, { 'retry-after': '2', 'retry-after-ms': '1500' }],
    ['insufficient_memory', 503, 0, { 'retry-after': '1', 'retry-after-ms': '0' }],
    ['model_load_failed', 503, undefined, { 'retry-after': '1', 'retry-after-ms': '1000' }],
    ['model_too_large', 507, undefined, { 'x-should-retry': 'false' }],
    ['unsupported', 501, undefined, { 'x-should-retry': 'false' }],
    ['internal', 500, undefined, {}],
    ['invalid_request', 400, 5000, {}],
  ] as [ErrorCode, number, number | undefined, object][])(
    '%s tells when to try again',
    (code, sent, after, headers) => {
      const error = new ModelyardError(code, 'x', after === undefined ? {} : { retryAfter: after })
      expect(retryHeaders(error, sent)).toEqual(headers)
    },
  )
})
