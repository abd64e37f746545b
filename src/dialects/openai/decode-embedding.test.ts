import { describe, expect, it } from 'vitest'
import type { Fields } from '../fields.ts'
import { decodeEmbeddingTask } from './decode-embedding.ts'

function refusal(body: Fields): string {
  try {
    decodeEmbeddingTask(body)
  } catch (error) {
    const { code, details } = error as { code: string; details: { param?: string } }
    return `${code} ${details.param}`
  }
  return 'accepted'
}

describe('embeddings (BR-33)', () => {
  it.each([
    ['a', ['a']],
    [
      ['a', 'b', 'a'],
      ['a', 'b', 'a'],
    ],
    [[1, 2, 3], [[1, 2, 3]]],
    [
      [[1, 2], [3]],
      [[1, 2], [3]],
    ],
  ])('input %j gives the inputs %j', (input, inputs) => {
    expect(decodeEmbeddingTask({ input }).inputs).toEqual(inputs)
  })

  const red = 'data:image/png;base64,iVBORw0KGgo='
  const bytes = Uint8Array.from(Buffer.from('iVBORw0KGgo=', 'base64'))

  it.each([
    [{ text: 'a' }, ['a']],
    [{ image: red }, [bytes]],
    [
      ['a', { image: red }, { text: 'b' }],
      ['a', bytes, 'b'],
    ],
  ])('input %j has texts and images as objects', (input, inputs) => {
    expect(decodeEmbeddingTask({ input }).inputs).toEqual(inputs)
  })

  it('takes thousands in their order', () => {
    const input = Array.from({ length: 3000 }, (_, index) => `text ${index}`)
    expect(decodeEmbeddingTask({ input }).inputs).toEqual(input)
  })

  it.each([
    [undefined, 'input'],
    [null, 'input'],
    [5, 'input'],
    ['', 'input'],
    [[], 'input'],
    [[''], 'input[0]'],
    [['a', ''], 'input[1]'],
    [['a', 5], 'input[1]'],
    [['a', null], 'input[1]'],
    [['a', [1]], 'input[1]'],
    [[[1], 'a'], 'input[1]'],
    [[[1], []], 'input[1]'],
    [[1, 'a'], 'input[1]'],
    [[1, -5], 'input[1]'],
    [[[1], [2.5]], 'input[1][0]'],
    [{}, 'input'],
    [{ text: '' }, 'input.text'],
    [{ text: 'a', image: 'data:image/png;base64,iVBORw0KGgo=' }, 'input'],
    [['a', { image: 'https://127.0.0.1/a.png' }], 'input[1].image'],
    [[{ image: 'data:image/png;base64,aGVsbG8=' }], 'input[0].image'],
    [[{ image: 5 }], 'input[0].image'],
    [[{ sound: 'a' }], 'input[0]'],
    [[[1], { text: 'a' }], 'input[1]'],
  ])('input %j is a 400 that names the item', (input, param) => {
    expect(refusal({ input })).toBe(`invalid_request ${param}`)
  })

  it.each([0, -1, 1.5, '64'])('dimensions %j is a 400', (dimensions) => {
    expect(refusal({ input: 'a', dimensions })).toBe('invalid_request dimensions')
  })
})
