import { closeSync, openSync, writeSync } from 'node:fs'

/** Writes GGUF files with real weights, small enough for tests. */

const VALUE_TYPES = { u8: 0, u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9, u64: 10 } as const
const TENSOR_TYPES = { f32: 0, f16: 1, q4_0: 2, q8_0: 8 } as const
const ALIGNMENT = 32

type ScalarType = Exclude<keyof typeof VALUE_TYPES, 'array'>
type Scalar = number | boolean | string

export type TensorType = keyof typeof TENSOR_TYPES

export type GgufEntry =
  | [key: string, type: ScalarType, value: Scalar]
  | [key: string, type: `array:${ScalarType}`, value: readonly Scalar[]]

export interface GgufTensorData {
  name: string
  /** In ggml's order: the first dimension is contiguous. */
  dims: number[]
  type: TensorType
  /** Its values. A shorter array is repeated until the tensor is full: large files are made quickly that way. */
  data: () => Float32Array
}

class Bytes {
  readonly #chunks: Buffer[] = []
  size = 0

  raw(chunk: Buffer): this {
    this.#chunks.push(chunk)
    this.size += chunk.length
    return this
  }

  u32(value: number): this {
    const chunk = Buffer.alloc(4)
    chunk.writeUInt32LE(value)
    return this.raw(chunk)
  }

  u64(value: number): this {
    const chunk = Buffer.alloc(8)
    chunk.writeBigUInt64LE(BigInt(value))
    return this.raw(chunk)
  }

  text(value: string): this {
    const chunk = Buffer.from(value, 'utf8')
    return this.u64(chunk.length).raw(chunk)
  }

  scalar(type: ScalarType, value: Scalar): this {
    if (type === 'string') return this.text(String(value))
    if (type === 'u64') return this.u64(Number(value))
    if (type === 'u8' || type === 'bool') return this.raw(Buffer.from([Number(value)]))
    const chunk = Buffer.alloc(4)
    if (type === 'f32') chunk.writeFloatLE(Number(value))
    else if (type === 'i32') chunk.writeInt32LE(Number(value))
    else chunk.writeUInt32LE(Number(value))
    return this.raw(chunk)
  }

  pad(): this {
    return this.raw(Buffer.alloc(padding(this.size)))
  }

  joined(): Buffer {
    return Buffer.concat(this.#chunks)
  }
}

function padding(size: number): number {
  return (ALIGNMENT - (size % ALIGNMENT)) % ALIGNMENT
}

function encodedSize({ dims, type }: GgufTensorData): number {
  const values = dims.reduce((product, dimension) => product * dimension, 1)
  if (type === 'f32') return values * 4
  if (type === 'f16') return values * 2
  return (values / 32) * (type === 'q8_0' ? 34 : 18)
}

function header(entries: readonly GgufEntry[], tensors: readonly GgufTensorData[]): Buffer {
  const bytes = new Bytes().raw(Buffer.from('GGUF')).u32(3).u64(tensors.length).u64(entries.length)
  for (const [key, type, value] of entries) {
    bytes.text(key)
    if (!Array.isArray(value)) {
      bytes.u32(VALUE_TYPES[type as ScalarType]).scalar(type as ScalarType, value as Scalar)
      continue
    }
    const of = type.slice('array:'.length) as ScalarType
    bytes.u32(VALUE_TYPES.array).u32(VALUE_TYPES[of]).u64(value.length)
    for (const item of value as Scalar[]) bytes.scalar(of, item)
  }
  let offset = 0
  for (const tensor of tensors) {
    bytes.text(tensor.name).u32(tensor.dims.length)
    for (const dimension of tensor.dims) bytes.u64(dimension)
    bytes.u32(TENSOR_TYPES[tensor.type]).u64(offset)
    offset += encodedSize(tensor)
    offset += padding(offset)
  }
  return bytes.pad().joined()
}

/** @returns the file's size in bytes */
export function writeGguf(
  path: string,
  entries: readonly GgufEntry[],
  tensors: readonly GgufTensorData[],
): number {
  const file = openSync(path, 'w')
  try {
    let size = writeSync(file, header(entries, tensors))
    for (const tensor of tensors) {
      size += writeRepeated(file, encode(tensor.data(), tensor.type), encodedSize(tensor))
      size += writeSync(file, Buffer.alloc(padding(size)))
    }
    return size
  } finally {
    closeSync(file)
  }
}

function writeRepeated(file: number, bytes: Buffer, size: number): number {
  for (let rest = size; rest > 0; rest -= bytes.length) writeSync(file, bytes.subarray(0, rest))
  return size
}

function encode(values: Float32Array, type: TensorType): Buffer {
  if (type === 'f32') return Buffer.from(values.buffer, values.byteOffset, values.byteLength)
  if (type === 'q4_0') return encodeQ4(values)
  if (type === 'q8_0') return encodeQ8(values)
  const bytes = Buffer.alloc(values.length * 2)
  values.forEach((value, index) => bytes.writeUInt16LE(toHalf(value), index * 2))
  return bytes
}

/** Per 32 values one f16 scale and 16 bytes of pairs. */
function encodeQ4(values: Float32Array): Buffer {
  const bytes = Buffer.alloc((values.length / 32) * 18)
  for (let start = 0, place = 0; start < values.length; start += 32, place += 18) {
    const block = values.subarray(start, start + 32)
    const largest = block.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0)
    const scale = largest / -8
    const level = (index: number): number =>
      Math.min(15, Math.max(0, Math.round(scale === 0 ? 8 : (block[index] ?? 0) / scale + 8)))
    bytes.writeUInt16LE(toHalf(scale), place)
    for (let index = 0; index < 16; index++)
      bytes[place + 2 + index] = level(index) | (level(index + 16) << 4)
  }
  return bytes
}

/** Per 32 values one f16 scale and 32 signed bytes. */
function encodeQ8(values: Float32Array): Buffer {
  const bytes = Buffer.alloc((values.length / 32) * 34)
  for (let start = 0, place = 0; start < values.length; start += 32, place += 34) {
    const block = values.subarray(start, start + 32)
    const scale = block.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 127
    bytes.writeUInt16LE(toHalf(scale), place)
    block.forEach((value, index) =>
      bytes.writeInt8(scale === 0 ? 0 : Math.round(value / scale), place + 2 + index),
    )
  }
  return bytes
}

const asFloat = new Float32Array(1)
const asBits = new Uint32Array(asFloat.buffer)

/** Tiny values become 0. */
function toHalf(value: number): number {
  asFloat[0] = value
  const bits = asBits[0] ?? 0
  const sign = (bits >>> 16) & 0x8000
  const exponent = ((bits >>> 23) & 0xff) - 112
  if (exponent <= 0) return sign
  return exponent >= 31 ? sign | 0x7c00 : sign | (exponent << 10) | ((bits & 0x7fffff) >>> 13)
}
