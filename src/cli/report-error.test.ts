import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../base/errors.ts'
import { reportError } from './report-error.ts'
import { createDesk } from './test-desk.ts'

const PLAIN = { json: false, verbose: false }

describe('errors', () => {
  it('are told in words, with the time to wait and the last words of a worker (R11)', async () => {
    const { context, err } = createDesk()
    const error = new ModelyardError('model_load_failed', 'It could not be loaded.', {
      retryAfter: 4000,
      details: { logTail: ['one', 'two'] },
    })
    expect(await reportError(error, context.err, PLAIN)).toBe(6)
    expect(err()).toBe('error: It could not be loaded.\nTry again in 4 s.\n  | one\n  | two\n')
  })

  it('are JSON for those who asked for it', async () => {
    const { context, err } = createDesk()
    const error = new ModelyardError('queue_full', 'Full.', { retryAfter: 1000, details: { limit: 3 } })
    await reportError(error, context.err, { json: true, verbose: false })
    expect(JSON.parse(err())).toEqual({
      error: { code: 'queue_full', message: 'Full.', details: { limit: 3 }, retryAfter: 1000, exitCode: 8 },
    })
  })

  it('have the exit code of the process, also after SIGTERM', async () => {
    const { context, err } = createDesk()
    const report = { json: true, verbose: false, codeFor: () => 143 as const }
    expect(await reportError(new ModelyardError('aborted', 'Interrupted.'), context.err, report)).toBe(143)
    expect(JSON.parse(err())).toMatchObject({ error: { code: 'aborted', exitCode: 143 } })
  })

  it('that nobody foresaw say how to see more, and --verbose shows where they happened', async () => {
    const { context, err } = createDesk()
    expect(await reportError(new TypeError('x is not a function'), context.err, PLAIN)).toBe(1)
    expect(err()).toContain('--verbose')
    await reportError(new TypeError('x is not a function'), context.err, { json: false, verbose: true })
    expect(err()).toContain('report-error.test.ts')
  })

  it('of an interrupt are silent: who pressed Ctrl-C knows it', async () => {
    const { context, err } = createDesk()
    expect(await reportError(new ModelyardError('aborted', 'Interrupted.'), context.err, PLAIN)).toBe(130)
    expect(err()).toBe('')
  })
})
