import { describe, expect, it } from 'vitest'
import { buildFailure } from './build-failure.ts'

const STEP = { what: 'compile', jobs: 4, folder: '/home/engines/.llama-server-build' }
const ended = (...logTail: string[]) => ({ code: 1, signal: null, logTail })

describe('a compilation that failed', () => {
  it.each([
    ['c++: fatal error: Killed signal terminated program cc1plus', 4, '--jobs 2'],
    ['cc1plus: out of memory allocating 65536 bytes', 3, '--jobs 1'],
    ['virtual memory exhausted: Cannot allocate memory', 1, '--jobs 1'],
  ])('by memory (%s) is told with fewer jobs to try', (line, jobs, remedy) => {
    const error = buildFailure({ ...STEP, jobs }, ended('[3/9] Building', line))
    expect(error).toMatchObject({ code: 'insufficient_memory', details: { jobs } })
    expect(error.message).toContain(remedy)
    expect(error.message).toContain('the next try goes on there')
  })

  it('by a full disk is told as that', () => {
    const error = buildFailure(STEP, ended('fatal: write error: No space left on device'))
    expect(error).toMatchObject({ code: 'disk_full', details: { path: STEP.folder } })
  })

  it('by the code is told with the first complaint and the exit code', () => {
    const error = buildFailure(
      STEP,
      ended('FAILED: x.o', 'x.cpp:3:1: error: no such thing', 'x.cpp:9:1: error: another'),
    )
    expect(error.message).toContain('"compile" failed (exit code 1), saying: error: no such thing.')
    expect(error).toMatchObject({ code: 'engine_missing', details: { exitCode: 1 } })
  })

  it('without words is told by how it ended', () => {
    const error = buildFailure(STEP, { code: null, signal: 'SIGSEGV', logTail: [] })
    expect(error.message).toContain('failed (SIGSEGV). Look at')
  })
})
