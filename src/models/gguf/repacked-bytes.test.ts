import { describe, expect, it } from 'vitest'
import type { GgufTensor } from './gguf-header.ts'
import { repackedBytes } from './repacked-bytes.ts'

function tensor(name: string, type: string, dimensions = [64, 64]): GgufTensor {
  return { name, type, dimensions, bytes: 100 }
}

describe('repackedBytes', () => {
  const output = tensor('output.weight', 'F16')

  it('counts matrices in the types that the processor repacks', () => {
    const tensors = [
      output,
      tensor('a.weight', 'Q4_0'),
      tensor('b.weight', 'Q8_0'),
      tensor('c.weight', 'Q4_1'),
    ]
    expect(repackedBytes(tensors, 'x64')).toBe(100)
    expect(repackedBytes(tensors, 'arm64')).toBe(200)
  })

  it('leaves out embeddings, unless the model multiplies with them for want of an output matrix', () => {
    const embedding = tensor('token_embd.weight', 'Q4_0')
    expect(repackedBytes([output, embedding], 'x64')).toBe(0)
    expect(repackedBytes([embedding], 'x64')).toBe(100)
  })

  it('leaves out vectors and numbers of rows that the kernels do not take', () => {
    const tensors = [output, tensor('norm.weight', 'Q4_0', [64]), tensor('odd.weight', 'Q4_0', [64, 12])]
    expect(repackedBytes(tensors, 'x64')).toBe(0)
    expect(repackedBytes(tensors, 'arm64')).toBe(100)
  })

  it('is 0 on processors it knows nothing of', () => {
    expect(repackedBytes([output, tensor('a.weight', 'Q4_0')], 'riscv64')).toBe(0)
  })
})
