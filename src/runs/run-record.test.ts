import { describe, expect, it } from 'vitest'
import { ModelyardError, type ErrorCode } from '../base/errors.ts'
import { runRecord, type RunAccount } from './run-record.ts'

const ACCOUNT: RunAccount = {
  info: { id: 'run_1', model: 'm', queueMs: 5, loadMs: 3, promptTokens: 9, cachedTokens: 4 },
  request: { model: 'alias', task: { kind: 'rerank', query: 'a', documents: ['b'] } },
  startedAt: 1000,
  totalMs: 50,
  outcome: 'aborted',
  result: undefined,
  failure: undefined,
  pieces: 2,
  savedTime: (tokens) => tokens * 10,
}

describe('the record of a run', () => {
  it('that was cut short has what was known then, and its pieces for tokens', () => {
    expect(runRecord(ACCOUNT)).toEqual({
      id: 'run_1',
      model: 'm',
      instance: null,
      kind: 'rerank',
      startedAt: 1000,
      queueMs: 5,
      loadMs: 3,
      prefillMs: 0,
      decodeMs: 0,
      totalMs: 50,
      promptTokens: 9,
      cachedTokens: 4,
      savedMs: 40,
      completionTokens: 2,
      outcome: 'aborted',
      request: null,
      placement: null,
      error: null,
    })
  })

  it('that ended has what its engine counted, zero included', () => {
    const usage = { promptTokens: 8, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 }
    const result = { finishReason: 'stop' as const, usage, timings: { prefill: 7, decode: 6 } }
    expect(runRecord({ ...ACCOUNT, result })).toMatchObject({
      promptTokens: 8,
      cachedTokens: 0,
      savedMs: 0,
      completionTokens: 0,
      prefillMs: 7,
      decodeMs: 6,
    })
  })

  it.each<[ErrorCode, string | null]>([
    ['queue_full', 'words'],
    ['timeout', 'words'],
    ['engine_failed', null],
    ['internal', null],
    ['invalid_request', null],
  ])('that failed with %s has %s of its words: none that may be a user’s (F10)', (code, error) => {
    expect(runRecord({ ...ACCOUNT, failure: new ModelyardError(code, 'words') })).toMatchObject({ error })
  })
})
