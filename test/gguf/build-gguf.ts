/** Builds GGUF files for tests, sound by default and broken where a test says so. */

const TYPES = {
  u8: 0,
  i8: 1,
  u16: 2,
  i16: 3,
  u32: 4,
  i32: 5,
  f32: 6,
  bool: 7,
  string: 8,
  array: 9,
  u64: 10,
  i64: 11,
  f64: 12,
} as const

export type ScalarType = Exclude<keyof typeof TYPES, 'array'>
export type BuiltValue =
  | { type: ScalarType; value: number | bigint | boolean | string }
  | { type: 'array'; of: ScalarType; value: readonly (number | bigint | boolean | string)[] }
  | { type: 'raw'; id: number; bytes: Buffer }

export interface BuiltTensor {
  name: string
  dimensions: readonly (number | bigint)[]
  /** ggml type number */
  type: number
  bytes: number
  /** Written instead of the right offset. */
  offset?: number | bigint
}

export interface BuiltGguf {
  version?: number
  metadata: readonly (readonly [key: string, value: BuiltValue])[]
  tensors?: readonly BuiltTensor[]
  alignment?: number
  /** Written instead of the true counts. */
  keyCount?: number | bigint
  tensorCount?: number | bigint
}

export function u32(value: number): BuiltValue {
  return { type: 'u32', value }
}

export function text(value: string): BuiltValue {
  return { type: 'string', value }
}

export function texts(value: readonly string[]): BuiltValue {
  return { type: 'array', of: 'string', value }
}

export function numbers(of: ScalarType, value: readonly number[]): BuiltValue {
  return { type: 'array', of, value }
}

export function buildGguf(built: BuiltGguf): Buffer {
  const alignment = built.alignment ?? 32
  const tensors = built.tensors ?? []
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    u32Bytes(built.version ?? 3),
    u64Bytes(built.tensorCount ?? tensors.length),
    u64Bytes(built.keyCount ?? built.metadata.length),
    ...built.metadata.flatMap(([key, value]) => [textBytes(key), valueBytes(value)]),
    ...tensorRecords(tensors, alignment),
  ])
  const data = tensors.map(({ bytes }) => Buffer.alloc(padded(bytes, alignment), 1))
  return Buffer.concat([head, Buffer.alloc(padded(head.length, alignment) - head.length), ...data])
}

function tensorRecords(tensors: readonly BuiltTensor[], alignment: number): Buffer[] {
  let end = 0
  return tensors.map((tensor) => {
    const offset = tensor.offset ?? end
    end += padded(tensor.bytes, alignment)
    return Buffer.concat([
      textBytes(tensor.name),
      u32Bytes(tensor.dimensions.length),
      ...tensor.dimensions.map(u64Bytes),
      u32Bytes(tensor.type),
      u64Bytes(offset),
    ])
  })
}

function padded(bytes: number, alignment: number): number {
  return Math.ceil(bytes / alignment) * alignment
}

function u32Bytes(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

export function u64Bytes(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

export function textBytes(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([u64Bytes(bytes.length), bytes])
}

function valueBytes(value: BuiltValue): Buffer {
  if (value.type === 'raw') return Buffer.concat([u32Bytes(value.id), value.bytes])
  if (value.type !== 'array')
    return Buffer.concat([u32Bytes(TYPES[value.type]), scalarBytes(value.type, value.value)])
  return Buffer.concat([
    u32Bytes(TYPES.array),
    u32Bytes(TYPES[value.of]),
    u64Bytes(value.value.length),
    ...value.value.map((element) => scalarBytes(value.of, element)),
  ])
}

const WRITERS: Record<
  Exclude<ScalarType, 'string'>,
  [size: number, write: (bytes: Buffer, value: never) => void]
> = {
  u8: [1, (bytes, value: number) => bytes.writeUInt8(value)],
  i8: [1, (bytes, value: number) => bytes.writeInt8(value)],
  u16: [2, (bytes, value: number) => bytes.writeUInt16LE(value)],
  i16: [2, (bytes, value: number) => bytes.writeInt16LE(value)],
  u32: [4, (bytes, value: number) => bytes.writeUInt32LE(value)],
  i32: [4, (bytes, value: number) => bytes.writeInt32LE(value)],
  f32: [4, (bytes, value: number) => bytes.writeFloatLE(value)],
  bool: [1, (bytes, value: boolean) => bytes.writeUInt8(value ? 1 : 0)],
  u64: [8, (bytes, value: number | bigint) => bytes.writeBigUInt64LE(BigInt(value))],
  i64: [8, (bytes, value: number | bigint) => bytes.writeBigInt64LE(BigInt(value))],
  f64: [8, (bytes, value: number) => bytes.writeDoubleLE(value)],
}

function scalarBytes(type: ScalarType, value: number | bigint | boolean | string): Buffer {
  if (type === 'string') return textBytes(String(value))
  const [size, write] = WRITERS[type]
  const bytes = Buffer.alloc(size)
  write(bytes, value as never)
  return bytes
}

/** The metadata of a small, sound llama; tests replace single keys. */
export function llamaMetadata(changes: Record<string, BuiltValue | undefined> = {}): [string, BuiltValue][] {
  const keys: Record<string, BuiltValue | undefined> = {
    'general.architecture': text('llama'),
    'general.name': text('built for a test'),
    'general.file_type': u32(0),
    'llama.context_length': u32(2048),
    'llama.embedding_length': u32(64),
    'llama.block_count': u32(2),
    'llama.feed_forward_length': u32(128),
    'llama.attention.head_count': u32(4),
    'llama.attention.head_count_kv': u32(2),
    'tokenizer.ggml.model': text('gpt2'),
    'tokenizer.ggml.tokens': texts(['a', 'b', '<|end|>']),
    'tokenizer.ggml.token_type': numbers('i32', [1, 1, 3]),
    'tokenizer.ggml.eos_token_id': u32(2),
    ...changes,
  }
  return Object.entries(keys).filter((entry): entry is [string, BuiltValue] => entry[1] !== undefined)
}

export const EMBEDDING_TENSOR: BuiltTensor = {
  name: 'token_embd.weight',
  dimensions: [64, 3],
  type: 0,
  bytes: 768,
}

/** A small sound llama as a file's bytes. */
export function buildLlama(
  changes: Record<string, BuiltValue | undefined> = {},
  rest: Partial<BuiltGguf> = {},
): Buffer {
  return buildGguf({ metadata: llamaMetadata(changes), tensors: [EMBEDDING_TENSOR], ...rest })
}
