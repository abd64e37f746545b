import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../base/errors.ts'
import { exitCodeOf, isErrorCode } from './exit-codes.ts'

describe('exit codes', () => {
  it.each([
    ['invalid_request', 2],
    ['config_invalid', 2],
    ['model_not_found', 3],
    ['insufficient_memory', 4],
    ['model_too_large', 4],
    ['engine_missing', 5],
    ['model_file_invalid', 6],
    ['download_failed', 7],
    ['home_in_use', 8],
    ['timeout', 9],
    ['aborted', 130],
    ['internal', 1],
  ] as const)('%s is %i', (code, exitCode) => {
    expect(exitCodeOf(new ModelyardError(code, 'x'))).toBe(exitCode)
  })

  it('a load that failed for want of memory or engine says so', () => {
    const failed = (failure: string): ModelyardError =>
      new ModelyardError('model_load_failed', 'x', { details: { failure } })
    expect(exitCodeOf(failed('out_of_memory'))).toBe(4)
    expect(exitCodeOf(failed('missing_engine'))).toBe(5)
    expect(exitCodeOf(failed('crash'))).toBe(6)
  })

  it('only our own codes are codes', () => {
    expect(isErrorCode('queue_full')).toBe(true)
    expect(isErrorCode('toString')).toBe(false)
    expect(isErrorCode(404)).toBe(false)
  })
})
