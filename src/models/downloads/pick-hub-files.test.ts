import { describe, expect, it } from 'vitest'
import { parseHubSource } from '../hub-source.ts'
import type { HubFile } from './hub-client.ts'
import { pickHubFiles } from './pick-hub-files.ts'

function pick(source: string, ...paths: string[]): string[] {
  const files = paths.map((path): HubFile => ({ path, size: 1 }))
  return pickHubFiles(parseHubSource(source), files).map(({ path }) => path)
}

describe('pickHubFiles', () => {
  const MANY = [
    'README.md',
    'm-Q8_0.gguf',
    'm-Q4_K_S.gguf',
    'm-Q4_K_M.gguf',
    'mmproj-m-Q4_K_M.gguf',
    'm-Q4_K_M.imatrix.gguf',
  ]

  it('takes the named file and no other', () => {
    expect(pick('hf:o/r/m-Q8_0.gguf', ...MANY)).toEqual(['m-Q8_0.gguf'])
    expect(() => pick('hf:o/r/M-Q8_0.gguf', ...MANY)).toThrow('Near it: m-Q8_0.gguf')
  })

  it.each(['Q4_K_M', 'q4_k_m'])(
    'takes the one of quantisation %s, whatever the case, projectors apart (BR-22)',
    (name) => {
      expect(pick(`hf:o/r:${name}`, ...MANY)).toEqual(['m-Q4_K_M.gguf'])
    },
  )

  it('takes a quantisation as a whole word', () => {
    expect(() => pick('hf:o/r:Q4_K', ...MANY)).toThrow('There is: m-Q8_0.gguf, m-Q4_K_S.gguf, m-Q4_K_M.gguf')
    expect(pick('hf:o/r:Q4_0', 'm.Q4_0.gguf', 'm.IQ4_0_X.gguf')).toEqual(['m.Q4_0.gguf'])
  })

  it('takes a good small one where nobody says', () => {
    expect(pick('hf:o/r', ...MANY)).toEqual(['m-Q4_K_M.gguf'])
    expect(pick('hf:o/r', 'm-F32.gguf', 'm-Q8_0.gguf')).toEqual(['m-Q8_0.gguf'])
    expect(pick('hf:o/r', 'only.gguf')).toEqual(['only.gguf'])
  })

  it('never takes a draft model by itself (BR-22)', () => {
    expect(pick('hf:o/r', 'm-draft-Q4_K_M.gguf', 'm-Q8_0.gguf')).toEqual(['m-Q8_0.gguf'])
  })

  it('asks where several fit, and says where none does', () => {
    expect(() => pick('hf:o/r', 'a.gguf', 'b.gguf')).toThrow(
      'several that fit: a.gguf, b.gguf. Name one: hf:o/r/a.gguf',
    )
    expect(() => pick('hf:o/r:Q8_0', 'a-Q8_0.gguf', 'b/a-Q8_0.gguf')).toThrow('several that fit')
    expect(() => pick('hf:o/r', 'README.md')).toThrow('has neither GGUF files nor safetensors. Look')
    expect(() => pick('hf:o/r', 'pytorch_model.bin')).toThrow('those are never fetched')
  })

  it('takes all shards of a set, in a folder named after the quantisation too (S4)', () => {
    const shards = ['Q8_0/m-00001-of-00002.gguf', 'Q8_0/m-00002-of-00002.gguf']
    expect(pick('hf:o/r:Q8_0', ...shards.toReversed())).toEqual(shards)
    expect(pick(`hf:o/r/${shards[0]}`, ...shards)).toEqual(shards)
    expect(() => pick(`hf:o/r/${shards[1]}`, ...shards)).toThrow('name its first part')
    expect(() => pick(`hf:o/r/${shards[0]}`, shards[0] ?? '')).toThrow('not all of them are there')
    expect(() => pick('hf:o/r:Q8_0', shards[0] ?? '')).toThrow('has no file of quantisation Q8_0')
  })
})
