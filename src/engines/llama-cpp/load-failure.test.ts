import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../../base/errors.ts'
import type { LoadPlan } from '../engine.ts'
import { loadFailure, throwIfAborted } from './load-failure.ts'

const plan = { model: 'm', facts: { path: '/models/m.gguf' } } as LoadPlan

const classOf = (error: unknown, log: string[] = []): unknown =>
  loadFailure(plan, error, log).details['failure']

function named(name: string, message = ''): Error {
  return Object.assign(new Error(message), { name })
}

describe('a failed load', () => {
  it.each([
    ['out_of_memory', named('InsufficientMemoryError', 'A context size of 5000000 is too large'), []],
    ['out_of_memory', new Error('std::bad_alloc'), []],
    ['out_of_memory', new Error('Failed to load model'), ['error: unable to allocate CPU buffer']],
    ['bad_file', named('InvalidGgufMagicError', 'Invalid GGUF magic'), []],
    [
      'bad_file',
      new Error('Failed to load model'),
      ["error loading model: unknown model architecture: 'zebra'"],
    ],
    [
      'bad_file',
      new Error('Failed to load model'),
      ['load: tensor info', 'error: tensor blk.0 is not within the file bounds'],
    ],
    ['bad_file', named('RangeError', 'offset is outside the bounds, invalid'), []],
    ['bad_option', named('NoBinaryFoundError', 'NoBinaryFound'), []],
    ['bad_option', new Error('Failed to load LoRA adapter'), []],
    ['crash', new Error('something else'), []],
  ])('is told as %s', (failure, error, log) => {
    expect(classOf(error, log)).toBe(failure)
  })

  it('tells the file, the cause and the last complaint of the log, and keeps the log', () => {
    const log = ['loading', 'error: tensor blk.0 is not within the file bounds', 'done']
    const error = loadFailure(plan, new Error('Failed to load model'), log)
    expect(error.message).toBe(
      'Model "m" (m.gguf) could not be loaded: its file cannot be used. Failed to load model: error: tensor blk.0 is not within the file bounds',
    )
    expect(error.details).toEqual({ failure: 'bad_file', logTail: log })
  })

  it('passes over the closing line of the log that says nothing', () => {
    const log = [
      "llama_model_load: error loading model: unknown model architecture: 'zebra'",
      'llama_model_load_from_file_impl: failed to load model',
    ]
    const { message } = loadFailure(plan, new Error('Failed to load model'), log)
    expect(message).toContain("unknown model architecture: 'zebra'")
    expect(loadFailure(plan, new Error('x'), log.slice(1)).message).toContain('failed to load model')
  })

  it('that is an error of ours already stays what it is', () => {
    const ours = new ModelyardError('unsupported', 'no')
    expect(loadFailure(plan, ours, [])).toBe(ours)
  })
})

describe('a load that was given up', () => {
  it('is told as aborted, or with the reason when that is one of ours', () => {
    expect(() => throwIfAborted(plan, new AbortController().signal)).not.toThrow()
    expect(() => throwIfAborted(plan, AbortSignal.abort())).toThrow('The load of "m" was given up.')
    const reason = new ModelyardError('shutting_down', 'bye')
    expect(() => throwIfAborted(plan, AbortSignal.abort(reason))).toThrow(reason)
  })
})
