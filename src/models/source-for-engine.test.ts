import { describe, expect, it } from 'vitest'
import { sourceForEngine } from './source-for-engine.ts'

describe('sourceForEngine', () => {
  it.each([
    ['hf:org/repo', 'hf:org/repo:safetensors'],
    ['hf:org/repo@v1', 'hf:org/repo:safetensors@v1'],
    ['hf:org/repo:Q4_K_M', 'hf:org/repo:Q4_K_M'],
    ['hf:org/repo/m.gguf', 'hf:org/repo/m.gguf'],
    ['hf:org/repo:safetensors', 'hf:org/repo:safetensors'],
    ['/models/qwen', '/models/qwen'],
    ['smollm2', 'smollm2'],
  ])('of %s mlx reads %s', (source, wanted) => {
    expect(sourceForEngine(source, 'mlx')).toBe(wanted)
  })

  it.each([undefined, 'node-llama-cpp'])('leaves the choice where the engine is %s', (engine) => {
    expect(sourceForEngine('hf:org/repo', engine)).toBe('hf:org/repo')
  })
})
