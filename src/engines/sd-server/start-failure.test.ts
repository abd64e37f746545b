import { describe, expect, it } from 'vitest'
import type { LoadPlan } from '../engine.ts'
import type { WorkerExit } from '../supervision/worker-exit.ts'
import { sdStartFailure } from './start-failure.ts'

const PLAN = { model: 'm', facts: { path: '/models/m.gguf' } } as LoadPlan

function exit(changes: Partial<WorkerExit>): WorkerExit {
  return { code: 1, signal: null, expected: false, logTail: [], model: 'm', pid: 7, ...changes }
}

describe('an sd-server that ended before it answered', () => {
  it.each<[string, Partial<WorkerExit>, string]>([
    ['an unknown flag', { logTail: ['[ERROR] error: unknown argument: --x'] }, 'bad_option'],
    ['no model', { logTail: ['[ERROR] error: the following arguments are required: model'] }, 'bad_option'],
    [
      'a foreign file',
      { logTail: ['[ERROR] get sd version from file failed: x', '[ERROR] new_sd_ctx_t failed'] },
      'bad_file',
    ],
    ['a missing tensor', { logTail: ["[ERROR] tensor 'a' not in model file"] }, 'bad_file'],
    [
      'no room',
      { logTail: ['[ERROR] alloc params backend buffer failed', '[ERROR] new_sd_ctx_t failed'] },
      'out_of_memory',
    ],
    ['the kernel', { code: null, signal: 'SIGKILL' }, 'out_of_memory'],
    ['a taken port', { code: 0, logTail: ['[INFO ] listening on: 127.0.0.1:1'] }, 'port'],
    ['a crash', { code: null, signal: 'SIGSEGV' }, 'crash'],
    ['nothing at all', {}, 'crash'],
    ['our own deadline', { code: null, signal: 'SIGKILL', ended: 'it took too long' }, 'timeout'],
  ])('for %s', (_, changes, failure) => {
    const error = sdStartFailure(PLAN, exit(changes))
    expect(error).toMatchObject({ code: 'model_load_failed', details: { failure } })
    expect(error.message).toMatch(/^Model "m" \(m\.gguf\) could not be loaded: its sd-server .*\.$/)
  })

  it('says its first complaint: the last one is always the same', () => {
    const { message } = sdStartFailure(
      PLAN,
      exit({ logTail: ['[ERROR] a.cpp:1 - first', '[ERROR] new_sd_ctx_t failed'] }),
    )
    expect(message).toContain('saying: first.')
  })
})
