import { describe, expect, it } from 'vitest'
import { parseShardName, shardPaths } from './shards.ts'

describe('shards', () => {
  it('reads the numbers of a shard from its name', () => {
    expect(parseShardName('/m/llama-00002-of-00003.gguf')).toEqual({ stem: 'llama', number: 2, count: 3 })
    expect(parseShardName('/m/llama-2-of-3.gguf')).toBeUndefined()
  })

  it('lists all shards of a set, and a whole file as itself', () => {
    expect(shardPaths('/m/x-00002-of-00002.gguf')).toEqual([
      '/m/x-00001-of-00002.gguf',
      '/m/x-00002-of-00002.gguf',
    ])
    expect(shardPaths('/m/x.gguf')).toEqual(['/m/x.gguf'])
  })
})
