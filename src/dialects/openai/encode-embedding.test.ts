import { describe, expect, it } from 'vitest'
import { EmbeddingAnswer, encodeVector } from './encode-embedding.ts'

const RESULT = {
  finishReason: 'stop',
  usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
  timings: { prefill: 1, decode: 0 },
} as const

describe('vectors', () => {
  it('BR-32: base64 decodes to the float answer bit for bit', () => {
    const vector = Float32Array.from({ length: 384 }, (_, index) => Math.sin(index) * 1e-3)
    const answers = (['float', 'base64'] as const).map((format) => {
      const answer = new EmbeddingAnswer('m', format, 1)
      answer.part({ type: 'vector', index: 0, vector })
      answer.end(RESULT)
      return (JSON.parse(answer.finish()) as { data: { embedding: unknown }[] }).data[0]?.embedding
    })
    const bytes = Buffer.from(answers[1] as string, 'base64')
    const decoded = Array.from({ length: 384 }, (_, index) => bytes.readFloatLE(index * 4))
    expect(decoded).toEqual(answers[0])
    expect(Float32Array.from(answers[0] as number[])).toEqual(vector)
  })

  it('encodes a window into a larger buffer as that window alone', () => {
    const whole = Float32Array.from([9, 1, 2, 9])
    expect(Buffer.from(encodeVector(whole.subarray(1, 3)), 'base64')).toEqual(
      Buffer.from(Float32Array.from([1, 2]).buffer),
    )
  })

  it.each([1, 5, 64, 65, 257])('BR-34: a batch of %d gives as many vectors in order', (count) => {
    const answer = new EmbeddingAnswer('m', 'float', count)
    for (let index = count - 1; index >= 0; index--) {
      answer.part({ type: 'vector', index, vector: Float32Array.from([index]) })
    }
    answer.end(RESULT)
    const { data } = JSON.parse(answer.finish()) as { data: { index: number; embedding: number[] }[] }
    expect(data.map(({ index, embedding }) => [index, embedding[0]])).toEqual(
      Array.from({ length: count }, (_, index) => [index, index]),
    )
  })

  it('BR-34: a missing vector is an error that names it, never a shorter list', () => {
    const answer = new EmbeddingAnswer('m', 'float', 2)
    answer.part({ type: 'vector', index: 0, vector: Float32Array.from([1]) })
    answer.end(RESULT)
    expect(() => answer.finish()).toThrow(/input 1/)
  })
})
