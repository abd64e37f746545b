import { describe, expect, it } from 'vitest'
import { quantizationOf } from './quantization.ts'

describe('quantizationOf', () => {
  it.each([
    [{ quantization: { group_size: 64, bits: 4 }, torch_dtype: 'bfloat16' }, '4 bits in groups of 64'],
    [{ quantization: { group_size: 32, bits: 4, mode: 'mxfp4' } }, 'mxfp4, 4 bits in groups of 32'],
    [{ quantization: { bits: 8 } }, '8 bits'],
    [{ quantization_config: { group_size: 64, bits: 4 } }, '4 bits in groups of 64'],
    [{ quantization_config: { quant_method: 'gptq', bits: 4 } }, 'gptq, 4 bits'],
    [{ quantization_config: { quant_method: 'fp8' } }, 'fp8'],
    [{ torch_dtype: 'float32' }, 'float32'],
    [{ dtype: 'bfloat16' }, 'bfloat16'],
    [{ text_config: { torch_dtype: 'float16' } }, 'float16'],
    [{ torch_dtype: 'a\u001B[2J' }, undefined],
    [{ torch_dtype: 7, quantization: [] }, undefined],
    [{}, undefined],
  ])('%j is %s', (configuration, words) => {
    expect(quantizationOf(configuration)).toBe(words)
  })
})
