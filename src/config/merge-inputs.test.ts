import { describe, expect, it } from 'vitest'
import { mergeInputs } from './merge-inputs.ts'

describe('mergeInputs', () => {
  it('merges maps name by name, later ones first, and replaces everything else', () => {
    const file = { server: { port: 1, host: 'a', keys: ['x', 'y'] }, models: { a: 'hf:x/y' } }
    const over = { server: { port: 0, keys: ['z'] }, models: { b: { slots: 1 } } }
    expect(mergeInputs(file, { server: { port: 2 } }, over)).toEqual({
      server: { port: 0, host: 'a', keys: ['z'] },
      models: { a: 'hf:x/y', b: { slots: 1 } },
    })
  })

  it('does not let what is undefined hide what is there', () => {
    expect(mergeInputs({ server: { port: 1 } }, { server: { port: undefined } })).toEqual({
      server: { port: 1 },
    })
  })

  it('leaves a file that is no map for the check to refuse', () => {
    expect(mergeInputs(['a'], { server: {} })).toEqual(['a'])
    expect(mergeInputs(null, { server: {} })).toEqual({ server: {} })
  })

  it('does not let an empty map hide what should have been one', () => {
    expect(mergeInputs({ models: ['a'], server: 'b' }, { models: {}, server: { port: undefined } })).toEqual({
      models: ['a'],
      server: 'b',
    })
    expect(mergeInputs({ models: null }, { models: {} })).toEqual({ models: {} })
  })

  it('changes none of its inputs', () => {
    const file = { server: { port: 1 } }
    mergeInputs(file, { server: { port: 2 } })
    expect(file).toEqual({ server: { port: 1 } })
  })
})
