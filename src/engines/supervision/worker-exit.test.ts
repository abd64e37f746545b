import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../../base/errors.ts'
import {
  classifyExit,
  describeExit,
  loadEndedByExit,
  loadRefused,
  workerExited,
  type WorkerExit,
} from './worker-exit.ts'

function exit(changes: Partial<WorkerExit> = {}): WorkerExit {
  return { code: null, signal: null, expected: false, logTail: [], model: 'm', pid: 7, ...changes }
}

function startFailure(code: string): WorkerExit {
  return exit({ error: Object.assign(new Error('spawn'), { code }), pid: undefined })
}

describe('how a worker ended', () => {
  it.each<[string, WorkerExit, string]>([
    ['SIGKILL from outside', exit({ signal: 'SIGKILL' }), 'out_of_memory'],
    ['exit code 137', exit({ code: 137 }), 'out_of_memory'],
    ['SIGSEGV', exit({ signal: 'SIGSEGV' }), 'crash'],
    ['SIGILL', exit({ signal: 'SIGILL' }), 'crash'],
    ['SIGABRT', exit({ signal: 'SIGABRT', logTail: ['GGML_ASSERT(n > 0) failed'] }), 'crash'],
    ['SIGABRT for want of memory', exit({ signal: 'SIGABRT', logTail: ['std::bad_alloc'] }), 'out_of_memory'],
    [
      'the JavaScript heap',
      exit({ code: 134, logTail: ['FATAL ERROR: Reached heap limit'] }),
      'out_of_memory',
    ],
    ['exit code 1', exit({ code: 1 }), 'crash'],
    ['our own deadline', exit({ signal: 'SIGKILL', ended: 'it did not answer' }), 'timeout'],
    ['a missing program', startFailure('ENOENT'), 'missing_engine'],
    ['no memory for a process', startFailure('ENOMEM'), 'out_of_memory'],
  ])('by %s is classified (R11)', (_, ended, failure) => {
    expect(classifyExit(ended)).toBe(failure)
    expect(loadEndedByExit(ended)).toMatchObject({ code: 'model_load_failed', details: { failure } })
  })

  it('is said in words', () => {
    expect(describeExit(exit({ code: 3 }))).toBe('ended with exit code 3')
    expect(describeExit(exit({ signal: 'SIGBUS' }))).toBe('crashed with SIGBUS')
    expect(describeExit(exit({ signal: 'SIGKILL', ended: 'it was stuck' }))).toBe(
      'was ended by the server: it was stuck',
    )
    expect(describeExit(startFailure('ENOENT'))).toBe('could not be started: spawn')
  })

  it('stands in the error of its runs, with signal, exit code and last log lines', () => {
    const error = workerExited(exit({ signal: 'SIGSEGV', logTail: ['x'] }))
    expect(error.message).toBe('The worker that held "m" (process 7) crashed with SIGSEGV.')
    expect(error.toJSON()).toMatchObject({
      code: 'worker_exited',
      details: { model: 'm', pid: 7, exitCode: null, signal: 'SIGSEGV', crash: true, logTail: ['x'] },
    })
    expect(workerExited(exit({ code: 139 })).details).toMatchObject({ crash: true })
    expect(workerExited(exit({ code: 1 })).details).toMatchObject({ crash: false })
  })
})

describe('a load that the engine refused', () => {
  it('keeps code, words, class and time of retry, and gets the log lines', () => {
    const thrown = new ModelyardError('model_load_failed', 'bad', {
      details: { failure: 'bad_file' },
      retryAfter: 5,
    })
    expect(loadRefused(thrown, exit({ logTail: ['log'] })).toJSON()).toEqual({
      code: 'model_load_failed',
      message: 'bad',
      details: { failure: 'bad_file', logTail: ['log'] },
      retryAfter: 5,
    })
  })

  it('because the engine is not installed is no crash', () => {
    const missing = new ModelyardError('engine_missing', 'transformers is not installed.')
    expect(loadRefused(missing, exit()).toJSON()).toMatchObject({
      code: 'engine_missing',
      details: { failure: 'missing_engine' },
    })
  })

  it('by an error of no class is a crash of the engine, named with its model', () => {
    expect(loadRefused(new ModelyardError('internal', 'oops'), exit()).toJSON()).toEqual({
      code: 'model_load_failed',
      message: '"m" could not be loaded: oops',
      details: { failure: 'crash', logTail: [] },
    })
  })
})
