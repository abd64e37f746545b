import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  buildGguf,
  buildLlama,
  type BuiltTensor,
  EMBEDDING_TENSOR,
  llamaMetadata,
  numbers,
  text,
  textBytes,
  texts,
  u32,
  u64Bytes,
} from '../../../test/gguf/build-gguf.ts'
import { ModelyardError } from '../../base/errors.ts'
import { readGgufFacts } from './read-gguf-facts.ts'
import { readGgufHeader } from './read-gguf-header.ts'

const TINY_CHAT = resolve(import.meta.dirname, '../../../test/models/tiny-chat/tiny-chat.gguf')

let folder: string
let tiny: Buffer
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gguf-header-'))
  tiny = await readFile(TINY_CHAT)
})
afterAll(async () => {
  await rm(folder, { recursive: true })
})

let count = 0
async function written(bytes: Buffer | string, name = `broken-${++count}.gguf`): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, bytes)
  return path
}

/** Reads it as a model; the sentence of the refusal, which must name the file. */
async function refusal(bytes: Buffer | string): Promise<string> {
  const path = await written(bytes)
  const error = await readGgufFacts(path).catch((thrown: unknown) => thrown)
  if (!(error instanceof ModelyardError) || error.code !== 'model_file_invalid') throw error
  expect(error.details['path']).toBe(path)
  expect(error.message).toContain(`broken-${count}.gguf`)
  return error.message
}

/** A sound header around one key of the test's choice. */
function withKey(key: string, id: number, bytes: Buffer): Buffer {
  return buildGguf({
    metadata: [...llamaMetadata(), [key, { type: 'raw', id, bytes }]],
    tensors: [EMBEDDING_TENSOR],
  })
}

function withTensor(tensor: Partial<BuiltTensor>): Buffer {
  return buildLlama({}, { tensors: [EMBEDDING_TENSOR, { ...EMBEDDING_TENSOR, name: 'x.weight', ...tensor }] })
}

describe('truncated files (BR-23)', () => {
  it.each([
    ['at 3 bytes, within the magic', 3, 'expected ≥ 24 bytes, has 3'],
    ['at 10 bytes', 10, 'expected ≥ 24 bytes, has 10'],
    ['right after the counts', 24, /truncated\/corrupt: expected ≥ \d+ bytes, has 24/],
    ['in the middle of the metadata', 5000, /truncated\/corrupt: expected ≥ \d+ bytes, has 5000/],
    ['in the list of tensors', 12_000, /truncated\/corrupt: expected ≥ \d+ bytes, has 12000/],
  ])('cut %s', async (_, length, sentence) => {
    expect(await refusal(tiny.subarray(0, length))).toMatch(sentence)
  })

  it('one byte short', async () => {
    expect(await refusal(tiny.subarray(0, tiny.length - 1))).toMatch(
      `expected ≥ ${tiny.length} bytes, has ${tiny.length - 1}`,
    )
  })

  it('half', async () => {
    const half = Math.floor(tiny.length / 2)
    expect(await refusal(tiny.subarray(0, half))).toMatch(`expected ≥ ${tiny.length} bytes, has ${half}`)
  })

  it('at any byte of the header', async () => {
    const path = await written('', 'cut-anywhere.gguf')
    for (let length = 0; length < 12_896; length += 97) {
      await writeFile(path, tiny.subarray(0, length))
      await expect(readGgufHeader(path)).rejects.toMatchObject({ code: 'model_file_invalid' })
    }
  })
})

describe('files that are something else (BR-23)', () => {
  it.each([
    ['an empty file', '', 'it is empty (0 bytes)'],
    ['zero bytes', Buffer.alloc(4096), 'it begins with zero bytes only'],
    ['an HTML page', '\n<!DOCTYPE html><html><body>Not found</body></html>', 'it looks like HTML'],
    ['an HTML page with a byte order mark', '\uFEFF<html>', 'it looks like HTML'],
    ['a Git LFS pointer', 'version https://git-lfs.github.com/spec/v1\noid sha256:00\n', 'a Git LFS pointer'],
    ['a ZIP archive', Buffer.from('PK\u0003\u0004rest'), 'it is a ZIP archive'],
    ['the format before GGUF', Buffer.from('tjgg\u0001\u0000\u0000\u0000'), 'older GGML format'],
    [
      'safetensors',
      Buffer.from('\u0010\0\0\0\0\0\0\0{"__metadata__":{}}', 'latin1'),
      'looks like safetensors',
    ],
    ['JSON', '{"error":"Repository not found"}', 'it looks like JSON'],
    ['noise', Buffer.from('0123456789'), 'it begins with 30313233'],
  ])('%s', async (_, bytes, sentence) => {
    expect(await refusal(bytes)).toMatch(sentence)
  })

  it('a folder', async () => {
    const path = join(folder, 'folder.gguf')
    await mkdir(path)
    await expect(readGgufHeader(path)).rejects.toThrow('folder.gguf is not a file')
  })

  it('a file that is not there', async () => {
    await expect(readGgufHeader(join(folder, 'none.gguf'))).rejects.toMatchObject({ code: 'model_not_found' })
  })

  it('a big-endian file', async () => {
    const bytes = Buffer.from(tiny)
    bytes.writeUInt32BE(3, 4)
    expect(await refusal(bytes)).toMatch('is big-endian')
  })

  it.each([0, 1, 4, 65_535])('a file of version %d', async (version) => {
    const bytes = Buffer.from(tiny)
    bytes.writeUInt32LE(version, 4)
    expect(await refusal(bytes)).toMatch(`has GGUF version ${version}`)
  })
})

describe('sizes that the file does not have (BR-23)', () => {
  it('a text of 2^63 bytes', async () => {
    expect(await refusal(withKey('general.name2', 8, u64Bytes(2n ** 63n)))).toMatch(
      /expected ≥ 922\d+ bytes, has \d+/,
    )
  })

  it('a kept text of 2^63 bytes', async () => {
    const metadata = llamaMetadata({ 'general.name': { type: 'raw', id: 8, bytes: u64Bytes(2n ** 63n) } })
    expect(await refusal(buildGguf({ metadata }))).toMatch(/expected ≥ 922\d+ bytes, has \d+/)
  })

  it('a text of 2 GiB, where Node itself aborts', async () => {
    expect(await refusal(withKey('x.name', 8, u64Bytes(2n ** 31n)))).toMatch(/expected ≥ 2\d+ bytes/)
  })

  it.each([
    ['keys', { keyCount: 2n ** 64n - 1n }],
    ['keys', { keyCount: 1_000_000 }],
    ['tensors', { tensorCount: 2n ** 63n }],
    ['tensors', { tensorCount: 1000 }],
  ])('too many %s', async (_, rest) => {
    expect(await refusal(buildLlama({}, rest))).toMatch(/truncated\/corrupt/)
  })

  it.each([
    ['numbers', 5],
    ['bytes', 0],
    ['texts', 8],
  ])('an array of 2^62 %s', async (_, elementType) => {
    const head = Buffer.alloc(12)
    head.writeUInt32LE(elementType)
    head.writeBigUInt64LE(2n ** 62n, 4)
    expect(await refusal(withKey('x.array', 9, head))).toMatch(/truncated\/corrupt/)
  })

  it('a text in an array that runs past the end', async () => {
    const head = Buffer.alloc(12)
    head.writeUInt32LE(8)
    head.writeBigUInt64LE(2n, 4)
    const bytes = Buffer.concat([head, textBytes('fine'), u64Bytes(2n ** 40n)])
    expect(await refusal(withKey('x.array', 9, bytes))).toMatch(
      /truncated\/corrupt: expected ≥ 1099\d+ bytes/,
    )
  })

  it('a tensor past the end', async () => {
    expect(await refusal(withTensor({ offset: 1 << 20 }))).toMatch(/expected ≥ 105\d+ bytes, has \d+/)
    expect(await refusal(withTensor({ offset: 2n ** 64n - 32n }))).toMatch(/truncated\/corrupt/)
  })

  it('dimensions whose product overflows 64 bits', async () => {
    expect(await refusal(withTensor({ dimensions: [2n ** 63n, 2n ** 63n] }))).toMatch(/truncated\/corrupt/)
  })
})

describe('contradictions and unknown things', () => {
  it('a key twice', async () => {
    expect(await refusal(withKey('general.name', 8, textBytes('again')))).toMatch(
      'has the key "general.name" twice',
    )
  })

  it('a tensor twice', async () => {
    expect(await refusal(withTensor({ name: 'token_embd.weight' }))).toMatch(
      'has the tensor "token_embd.weight" twice',
    )
  })

  it('a value type nobody knows', async () => {
    expect(await refusal(withKey('x.value', 13, Buffer.alloc(8)))).toMatch(
      '"x.value" has the unknown value type 13',
    )
  })

  it('arrays in arrays', async () => {
    const head = Buffer.alloc(12)
    head.writeUInt32LE(9)
    head.writeBigUInt64LE(1n, 4)
    expect(await refusal(withKey('x.deep', 9, Buffer.concat([head, head, head])))).toMatch(
      'an array of the unknown type 9',
    )
  })

  it.each([4, 31, 43, 2 ** 32 - 1])('a tensor of type %d', async (type) => {
    expect(await refusal(withTensor({ type }))).toMatch(
      `has the tensor "x.weight" in the unknown type ${type}`,
    )
  })

  it('a tensor with 0, 5 or empty dimensions', async () => {
    expect(await refusal(withTensor({ dimensions: [] }))).toMatch('has 0 dimensions')
    expect(await refusal(withTensor({ dimensions: [1, 1, 1, 1, 1] }))).toMatch('has 5 dimensions')
    expect(await refusal(withTensor({ dimensions: [64, 0] }))).toMatch('has a dimension of 0')
  })

  it('rows that are no whole number of blocks', async () => {
    expect(await refusal(withTensor({ dimensions: [48, 3], type: 8 }))).toMatch(
      'rows of "x.weight" have 48 values, no multiple of 32',
    )
  })

  it('a tensor that is not aligned', async () => {
    expect(await refusal(withTensor({ offset: 8 }))).toMatch('lies at 8, not aligned to 32')
  })

  it.each([0, 24, 2 ** 31])('an alignment of %d', async (alignment) => {
    expect(await refusal(buildLlama({ 'general.alignment': u32(alignment) }))).toMatch(
      `its alignment is ${alignment}`,
    )
  })

  it('follows a sound alignment', async () => {
    const path = await written(buildLlama({ 'general.alignment': u32(256) }, { alignment: 256 }))
    expect((await readGgufHeader(path)).tensors).toHaveLength(1)
  })

  it('a name too long for the engine', async () => {
    expect(await refusal(withTensor({ name: 'n'.repeat(64) }))).toMatch("a tensor's name has 64 bytes")
  })
})

describe('files that end the engine by an assertion', () => {
  it('0 attention heads', async () => {
    expect(await refusal(buildLlama({ 'llama.attention.head_count': u32(0) }))).toMatch(
      'it has 0 attention heads',
    )
    expect(await refusal(buildLlama({ 'llama.attention.head_count': numbers('u32', [0, 0]) }))).toMatch(
      'it has 0 attention heads',
    )
  })

  it('duplicate tokens, far apart', async () => {
    const tokens = Array.from({ length: 20_000 }, (_, index) => `token ${index}`)
    tokens[19_999] = 'token 7'
    const changes = { 'tokenizer.ggml.tokens': texts(tokens), 'tokenizer.ggml.token_type': undefined }
    expect(await refusal(buildLlama(changes))).toMatch('has duplicate tokens: number 19999')
  })

  it('but empty tokens may repeat', async () => {
    const path = await written(buildLlama({ 'tokenizer.ggml.tokens': texts(['', '', 'a']) }))
    expect((await readGgufFacts(path)).vocabularySize).toBe(3)
  })

  it('tokenizer arrays of another length or type', async () => {
    const short = numbers('i32', [1, 1])
    expect(await refusal(buildLlama({ 'tokenizer.ggml.token_type': short }))).toMatch(
      'has 2 entries for 3 tokens',
    )
    expect(await refusal(buildLlama({ 'tokenizer.ggml.scores': short }))).toMatch('has elements of type 5')
    expect(await refusal(buildLlama({ 'tokenizer.ggml.merges': short }))).toMatch('has elements of type 5')
    expect(await refusal(buildLlama({ 'tokenizer.ggml.tokens': u32(3) }))).toMatch(
      '"tokenizer.ggml.tokens" is no array',
    )
  })
})

describe('facts that are missing or absurd', () => {
  it.each(['general.architecture', 'llama.context_length', 'llama.block_count', 'llama.embedding_length'])(
    'without %s',
    async (key) => {
      expect(await refusal(buildLlama({ [key]: undefined }))).toMatch(`has no "${key}"`)
    },
  )

  it('numbers of layers that no engine has', async () => {
    expect(await refusal(buildLlama({ 'llama.block_count': u32(0) }))).toMatch('"llama.block_count" is 0')
    expect(await refusal(buildLlama({ 'llama.block_count': u32(2 ** 32 - 1) }))).toMatch(
      '"llama.block_count" is 4294967295',
    )
  })

  it('numbers that are negative, broken or of another kind', async () => {
    expect(await refusal(buildLlama({ 'llama.context_length': { type: 'i32', value: -1 } }))).toMatch('is -1')
    expect(await refusal(buildLlama({ 'llama.context_length': { type: 'f32', value: Number.NaN } }))).toMatch(
      'is NaN',
    )
    expect(await refusal(buildLlama({ 'llama.context_length': text('2048') }))).toMatch(
      'has no "llama.context_length"',
    )
  })

  it('per-layer numbers for fewer layers', async () => {
    expect(await refusal(buildLlama({ 'llama.attention.head_count_kv': numbers('i32', [2]) }))).toMatch(
      'has 1 entries for 2 layers',
    )
  })
})
