import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  buildGguf,
  buildLlama,
  type BuiltTensor,
  type BuiltValue,
  EMBEDDING_TENSOR,
  llamaMetadata,
  numbers,
  text,
  texts,
  u32,
} from '../../../test/gguf/build-gguf.ts'
import type { GgufFacts } from '../model-facts.ts'
import { purposeOf } from './gguf-facts.ts'
import { readGgufFacts, readGgufModel } from './read-gguf-facts.ts'

const TINY_CHAT = resolve(import.meta.dirname, '../../../test/models/tiny-chat/tiny-chat.gguf')

let folder: string
let count = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gguf-facts-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
})

async function written(bytes: Buffer, name = `${++count}.gguf`): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, bytes)
  return path
}

async function llamaFacts(changes: Record<string, BuiltValue | undefined>): Promise<GgufFacts> {
  return readGgufFacts(await written(buildLlama(changes)))
}

describe('readGgufFacts', () => {
  it('reads the facts of a real model', async () => {
    expect(await readGgufFacts(TINY_CHAT)).toEqual({
      architecture: 'qwen2',
      name: 'tiny-chat',
      fileType: 'F32',
      parameterCount: 361_600,
      tensorBytes: 1_446_400,
      repackedBytes: 0,
      layers: 2,
      contextLength: 2048,
      embeddingLength: 128,
      feedForwardLength: 256,
      heads: 2,
      kvHeads: [1, 1],
      keyLength: 64,
      valueLength: 64,
      vocabularySize: 512,
      tokenizer: { model: 'gpt2', pre: 'gpt-2', addBos: false, eosToken: '<|im_end|>' },
      chatTemplate: expect.stringContaining('<|im_start|>') as string,
    })
  })

  it('reads a version 2 header like a version 3 header', async () => {
    const [two, three] = await Promise.all([
      readGgufFacts(await written(buildLlama({}, { version: 2 }))),
      readGgufFacts(await written(buildLlama({}, { version: 3 }))),
    ])
    expect(two).toEqual(three)
  })

  it('takes as many key heads as heads where head_count_kv is missing (BR-29)', async () => {
    const facts = await llamaFacts({ 'llama.attention.head_count_kv': undefined })
    expect(facts.kvHeads).toEqual([4, 4])
  })

  it('keeps key heads that differ by layer, 0 included (BR-29)', async () => {
    const facts = await llamaFacts({ 'llama.attention.head_count_kv': numbers('i32', [0, 2]) })
    expect(facts.kvHeads).toEqual([0, 2])
  })

  it('takes the largest of per-layer heads and feed-forward lengths', async () => {
    const facts = await llamaFacts({
      'llama.attention.head_count': numbers('u32', [2, 8]),
      'llama.feed_forward_length': numbers('u32', [100, 300]),
    })
    expect(facts).toMatchObject({ heads: 8, feedForwardLength: 300, keyLength: 8 })
  })

  it('keeps stated key and value lengths, window and experts', async () => {
    const facts = await llamaFacts({
      'llama.attention.key_length': u32(48),
      'llama.attention.value_length': u32(24),
      'llama.attention.sliding_window': u32(512),
      'llama.expert_count': u32(8),
    })
    expect(facts).toMatchObject({ keyLength: 48, valueLength: 24, slidingWindow: 512, experts: 8 })
  })

  it('reports a context of 10 million as it stands and takes no memory for it (BR-29)', async () => {
    expect((await llamaFacts({ 'llama.context_length': u32(10_000_000) })).contextLength).toBe(10_000_000)
  })

  it('finds the texts of the special tokens wherever the keys stand', async () => {
    const facts = await llamaFacts({ 'tokenizer.ggml.bos_token_id': u32(0) })
    expect(facts.tokenizer).toMatchObject({ bosToken: 'a', eosToken: '<|end|>' })
  })

  it('leaves out a special token whose id is not in the vocabulary', async () => {
    const facts = await llamaFacts({ 'tokenizer.ggml.eos_token_id': u32(3) })
    expect(facts.tokenizer).not.toHaveProperty('eosToken')
  })

  it.each([
    ['gpt2', undefined, false],
    ['gpt2', 'llama-bpe', true],
    ['llama', undefined, true],
    ['bert', undefined, true],
  ])('knows whether a %s tokenizer (%s) begins texts with BOS by itself', async (model, pre, addBos) => {
    const facts = await llamaFacts({
      'tokenizer.ggml.model': text(model),
      'tokenizer.ggml.pre': pre === undefined ? undefined : text(pre),
    })
    expect(facts.tokenizer.addBos).toBe(addBos)
  })

  it('lets the file say whether texts begin with BOS', async () => {
    const facts = await llamaFacts({
      'tokenizer.ggml.model': text('llama'),
      'tokenizer.ggml.add_bos_token': { type: 'bool', value: false },
    })
    expect(facts.tokenizer.addBos).toBe(false)
  })

  it('accepts 0 heads where the architecture has no attention', async () => {
    const metadata = Object.entries({
      ...Object.fromEntries(llamaMetadata()),
      'general.architecture': text('mamba'),
      'mamba.context_length': u32(64),
      'mamba.embedding_length': u32(8),
      'mamba.block_count': u32(2),
      'mamba.attention.head_count': u32(0),
    })
    const facts = await readGgufFacts(await written(buildGguf({ metadata, tensors: [EMBEDDING_TENSOR] })))
    expect(facts).toMatchObject({ heads: 0, kvHeads: [0, 0], keyLength: 0 })
  })
})

describe('purposeOf', () => {
  it.each([
    [undefined, 'llama', 'generation'],
    [0, 'llama', 'generation'],
    [1, 'llama', 'embedding'],
    [3, 'qwen3', 'embedding'],
    [4, 'qwen3', 'rerank'],
    [undefined, 'bert', 'embedding'],
    [undefined, 'nomic-bert', 'embedding'],
    [4, 'jina-bert-v2', 'rerank'],
  ])('pooling %s of %s means %s', async (pooling, architecture, purpose) => {
    const metadata = llamaMetadata({
      'general.architecture': text(architecture),
      'llama.pooling_type': pooling === undefined ? undefined : u32(pooling),
    }).map(([key, value]): [string, BuiltValue] => [key.replace(/^llama\./, `${architecture}.`), value])
    const facts = await readGgufFacts(await written(buildGguf({ metadata, tensors: [EMBEDDING_TENSOR] })))
    expect(purposeOf(facts)).toBe(purpose)
  })
})

describe('files that are no model by themselves', () => {
  it.each([
    ['adapter', { 'general.type': text('adapter') }],
    ['projector', { 'general.type': text('mmproj') }],
    ['projector', { 'general.architecture': text('clip') }],
  ])('refuses a %s', async (role, changes) => {
    await expect(llamaFacts(changes)).rejects.toMatchObject({ code: 'unsupported', details: { role } })
  })

  it('refuses a file without weights', async () => {
    const path = await written(buildLlama({}, { tensors: [] }))
    await expect(readGgufFacts(path)).rejects.toMatchObject({
      code: 'unsupported',
      details: { role: 'vocabulary' },
    })
  })
})

describe('split models (BR-22, S4)', () => {
  const split = (no: number): Record<string, BuiltValue> => ({
    'split.no': { type: 'u16', value: no },
    'split.count': { type: 'u16', value: 2 },
  })
  const second: BuiltTensor = { name: 'output.weight', dimensions: [64, 3], type: 0, bytes: 768 }

  async function writeShards(stem: string, parts = [1, 2]): Promise<string> {
    if (parts.includes(2)) {
      const metadata = Object.entries(split(1))
      await written(buildGguf({ metadata, tensors: [second] }), `${stem}-00002-of-00002.gguf`)
    }
    return written(buildLlama(split(0)), `${stem}-00001-of-00002.gguf`)
  }

  it('adds up the shards, opened by the first', async () => {
    const path = await writeShards('whole')
    const { facts, files } = await readGgufModel(path)
    expect(facts).toMatchObject({ parameterCount: 384, tensorBytes: 1536, layers: 2 })
    expect(files.map((file) => file.path)).toEqual([path, path.replace('00001-of', '00002-of')])
  })

  it('names the missing shard', async () => {
    const path = await writeShards('lost', [1])
    await expect(readGgufFacts(path)).rejects.toMatchObject({
      code: 'model_file_invalid',
      message: expect.stringContaining('its part lost-00002-of-00002.gguf is missing') as string,
    })
  })

  it('sends one who opens a later shard to the first', async () => {
    await writeShards('later')
    const path = await written(
      buildLlama({ ...split(1), 'tokenizer.ggml.tokens': texts(['a', 'b', 'c']) }),
      'later-00002-of-00002.gguf',
    )
    await expect(readGgufFacts(path)).rejects.toThrow('use the first, later-00001-of-00002.gguf')
  })
})
