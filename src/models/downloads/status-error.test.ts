import { describe, expect, it } from 'vitest'
import { statusError } from './status-error.ts'

const url = new URL('https://hub.example/org/repo')

describe('statusError', () => {
  it.each([
    [401, false, 'set a token (HF_TOKEN)'],
    [403, false, 'set a token (HF_TOKEN)'],
    [404, false, 'no such file or repository'],
    [410, false, 'no such file or repository'],
    [400, false, 'refused the request'],
    [408, true, 'refused the request'],
    [429, true, 'too many requests'],
    [500, true, 'the server failed'],
    [501, false, 'the server failed'],
    [503, true, 'the server failed'],
  ])('%d: another try: %s, %s', (status, retryable, sentence) => {
    const error = statusError(url, status, undefined, 0)
    expect(error).toMatchObject({
      code: 'download_failed',
      details: { status, retryable, host: 'hub.example' },
    })
    expect(error.message).toContain(sentence)
    expect(error.retryAfter).toBeUndefined()
  })

  it.each([
    ['2', 2000, true],
    ['0', 0, true],
    ['61', 61_000, false],
    ['Thu, 01 Jan 1970 00:00:30 GMT', 20_000, true],
    ['Thu, 01 Jan 1970 00:00:01 GMT', 0, true],
    ['soon', undefined, true],
  ])('reads Retry-After: %s', (header, retryAfter, retryable) => {
    const error = statusError(url, 429, header, 10_000)
    expect(error.retryAfter).toBe(retryAfter)
    expect(error.details['retryable']).toBe(retryable)
  })
})
