import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../../base/errors.ts'
import { concealKey, concealKeyIn } from './conceal-key.ts'

const KEY = 'sk-"quoted"-1'

describe('a key that an endpoint says back', () => {
  it('is in no text', () => {
    expect(concealKey(`Bearer ${KEY} and ${KEY}`, KEY)).toBe('Bearer (our key) and (our key)')
  })

  it('is in no error, nor in its details', () => {
    const error = new ModelyardError('engine_failed', `wrong: ${KEY}`, {
      details: { reason: [KEY] },
      retryAfter: 5,
    })
    const safe = concealKeyIn(error, KEY)
    expect(JSON.stringify(safe)).not.toContain('quoted')
    expect(safe).toMatchObject({ code: 'engine_failed', message: 'wrong: (our key)', retryAfter: 5 })
  })

  it('leaves words alone that stand for no key, and what is no error of ours', () => {
    expect(concealKey('none of them', 'none')).toBe('none of them')
    const error = new Error(KEY)
    expect(concealKeyIn(error, KEY)).toBe(error)
    const other = new ModelyardError('timeout', 'late')
    expect(concealKeyIn(other, KEY)).toBe(other)
  })
})
