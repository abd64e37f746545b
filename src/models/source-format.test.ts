import { describe, expect, it } from 'vitest'
import { CATALOG } from './catalog.ts'
import { formatOfSource } from './source-format.ts'
import { parseSource } from './source.ts'

describe('formatOfSource', () => {
  it.each([
    ['hf:org/repo', undefined],
    ['hf:org/repo:Q4_K_M', 'gguf'],
    ['hf:org/repo:safetensors', 'safetensors'],
    ['hf:org/repo/m.gguf', 'gguf'],
    ['hf:org/repo/flux.safetensors', undefined],
    ['pip:x==1.0/m.gguf', 'gguf'],
    ['pip:x==1.0/m.onnx', undefined],
    ['https://host.example/M.GGUF?x=1', 'gguf'],
    ['/models/m.gguf', undefined],
    ['smollm2', 'gguf'],
    ['piper-joe', 'onnx'],
    ['minilm', undefined],
    ['nothing', undefined],
  ])('%s is of %s', (source, format) => {
    expect(formatOfSource(parseSource(source), CATALOG)).toBe(format)
  })
})
