import { describe, expect, it } from 'vitest'
import { checkYardOptions } from './check-yard-options.ts'
import type { YardOptions } from './yard-options.ts'

function check(options: unknown): () => void {
  return () => checkYardOptions(options as YardOptions)
}

describe('options that only code can give', () => {
  it.each([
    [null, 'takes a map of options, not nothing'],
    ['model.gguf', 'takes a map of options, not text'],
    [[], 'takes a map of options, not a list'],
    [{ home: 3 }, 'home must be a path or false, not a number'],
    [{ home: '' }, 'home must be a path or false, not an empty text'],
    [{ home: true }, 'home must be a path or false, not true'],
    [{ engines: {} }, 'engines must be a list'],
    [{ engines: [null] }, 'engines must be a list'],
    [{ configuration: 'modelyard.yaml' }, 'configuration must be one that was loaded, not text'],
    [{ slowReader: 'pause' }, 'slowReader must be a map of options, not text'],
  ])('%j is refused in words', (options, words) => {
    expect(check(options)).toThrow(words)
  })

  it.each([{}, { home: false }, { home: '/tmp/yard' }, { models: {} }])('%j is fine', (options) => {
    expect(check(options)).not.toThrow()
  })
})
