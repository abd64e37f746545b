import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../../base/errors.ts'
import { encodeError, encodeErrorLine } from './encode-error.ts'

function message(error: ModelyardError): string {
  return (JSON.parse(encodeError(error)) as { error: string }).error
}

describe('errors in Ollama’s shape', () => {
  it('an unknown model in the words that clients look for, with the nearest name', () => {
    const details = { model: 'lama', nearest: ['llama'] }
    expect(message(new ModelyardError('model_not_found', 'x', { details }))).toBe(
      "model 'lama' not found; did you mean 'llama'?",
    )
    expect(
      message(new ModelyardError('model_not_found', 'x', { details: { model: 'a', nearest: [] } })),
    ).toBe("model 'a' not found")
    expect(message(new ModelyardError('model_not_found', 'It has no files.'))).toBe('It has no files.')
  })

  it.each([
    ['reasoning', '"m" does not support thinking'],
    ['tools', '"m" does not support tools'],
    ['images', '"m" does not support images'],
    ['infill', '"m" does not support insert'],
    ['logprobs', 'Why.'],
  ])('BR-38: without %s', (feature, text) => {
    expect(message(new ModelyardError('unsupported', 'Why.', { details: { feature, model: 'm' } }))).toBe(
      text,
    )
  })

  it('BR-07: a context that is too long, with both numbers', () => {
    const details = { promptTokens: 2100, contextSize: 128 }
    expect(message(new ModelyardError('context_length_exceeded', 'x', { details }))).toMatch(
      /2100 tokens, which exceeds .*maximum context length of 128/,
    )
    expect(message(new ModelyardError('context_length_exceeded', 'Why.'))).toMatch(/exceeds.*context.*Why/)
  })

  it('BR-73: a lack of memory never looks like a context that is too long', () => {
    expect(message(new ModelyardError('insufficient_memory', 'Needs 6 GiB, 2 GiB are free.'))).toBe(
      'Needs 6 GiB, 2 GiB are free.',
    )
  })

  it('in a stream it is a line', () => {
    expect(encodeErrorLine(new ModelyardError('internal', 'Line\nbreak'))).toBe('{"error":"Line\\nbreak"}\n')
  })
})
