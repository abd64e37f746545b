import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../../base/errors.ts'
import { encodeError } from './encode-error.ts'

function body(error: ModelyardError, status: number): unknown {
  return (JSON.parse(encodeError(error, status)) as { error: unknown }).error
}

describe('errors in OpenAI’s shape', () => {
  it.each([
    ['invalid_request', 400, 'invalid_request_error', 'invalid_request'],
    ['unauthorized', 401, 'authentication_error', 'invalid_api_key'],
    ['forbidden', 403, 'permission_error', 'forbidden'],
    ['model_not_found', 404, 'invalid_request_error', 'model_not_found'],
    ['payload_too_large', 413, 'invalid_request_error', 'payload_too_large'],
    ['queue_full', 429, 'rate_limit_error', 'rate_limit_exceeded'],
    ['internal', 500, 'server_error', 'internal'],
    ['insufficient_memory', 503, 'server_error', 'insufficient_memory'],
    ['timeout', 504, 'server_error', 'timeout'],
  ] as const)('%s', (code, status, type, named) => {
    expect(body(new ModelyardError(code, 'Why.'), status)).toEqual({
      message: 'Why.',
      type,
      param: null,
      code: named,
    })
  })

  it('names the field', () => {
    const error = new ModelyardError('invalid_request', 'Why.', { details: { param: 'messages[0].role' } })
    expect(body(error, 400)).toMatchObject({ param: 'messages[0].role' })
  })

  it('BR-07: a context that is too long has both numbers and the words that clients match on', () => {
    const details = { promptTokens: 2100, contextSize: 128 }
    const error = new ModelyardError('context_length_exceeded', 'Too long.', { details })
    expect(body(error, 400)).toMatchObject({
      code: 'context_length_exceeded',
      message: expect.stringMatching(/maximum context length is 128 tokens.*2100 tokens/) as string,
    })
  })

  it('BR-73: a lack of memory never looks like a context that is too long', () => {
    const error = new ModelyardError('insufficient_memory', 'Needs 6 GiB, 2 GiB are free.')
    expect(encodeError(error, 503)).not.toMatch(/context/)
  })
})
