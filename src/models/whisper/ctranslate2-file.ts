import { readFile } from 'node:fs/promises'
import { invalidFile } from '../gguf/invalid-file.ts'
import type { Pace } from './packed-matrix.ts'

/** A tensor of a CTranslate2 file. */
export interface Weights {
  axes: number[]
  values: Float32Array
}

const FLOAT32 = 0
const FLOAT16 = 4
/** More tensors than any model has. */
const MOST_TENSORS = 10_000

/** The tensors of a CTranslate2 `model.bin` of floats, by name. @throws ModelyardError `model_file_invalid`, the signal's reason */
export async function readCTranslate2(path: string, pace: Pace): Promise<Map<string, Weights>> {
  const reader = new Reader(path, await readFile(path))
  reader.number(4)
  reader.text()
  reader.number(4)
  const count = reader.number(4)
  if (count > MOST_TENSORS) throw invalidFile(path, `promises ${count} tensors.`)
  const tensors = new Map<string, Weights>()
  for (let index = 0; index < count; index++) {
    const name = reader.text()
    const axes = Array.from({ length: reader.number(1) }, () => reader.number(4))
    const type = reader.number(1)
    tensors.set(name, { axes, values: await reader.values(type, reader.number(4), name, pace) })
  }
  return tensors
}

/** Reads from the beginning on; what would read beyond the end is an error. */
class Reader {
  readonly #path: string
  readonly #bytes: Buffer
  #at = 0

  constructor(path: string, bytes: Buffer) {
    this.#path = path
    this.#bytes = bytes
  }

  number(size: 1 | 2 | 4): number {
    return this.#take(size).readUIntLE(0, size)
  }

  text(): string {
    return this.#take(this.number(2)).toString('utf8').replace(/\0$/, '')
  }

  async values(type: number, bytes: number, name: string, pace: Pace): Promise<Float32Array> {
    const data = this.#take(bytes)
    if (type === FLOAT32) return fromSingles(data, pace)
    if (type === FLOAT16) return fromHalves(data, pace)
    // Numbers of the conversion itself, of no use to us.
    if (bytes <= 8) return new Float32Array()
    throw invalidFile(this.#path, `has a tensor of another type than floats: ${name}.`)
  }

  #take(size: number): Buffer {
    const piece = this.#bytes.subarray(this.#at, this.#at + size)
    if (piece.length < size) throw invalidFile(this.#path, 'ends in the middle.')
    this.#at += size
    return piece
  }
}

async function fromSingles(data: Buffer, pace: Pace): Promise<Float32Array> {
  const values = new Float32Array(data.length / 4)
  await pace.inPieces(values.length, 1, (from, to) => {
    for (let index = from; index < to; index++) values[index] = data.readFloatLE(index * 4)
  })
  return values
}

async function fromHalves(data: Buffer, pace: Pace): Promise<Float32Array> {
  const values = new Float32Array(data.length / 2)
  await pace.inPieces(values.length, 1, (from, to) => {
    for (let index = from; index < to; index++) {
      const bits = (data[index * 2] ?? 0) | ((data[index * 2 + 1] ?? 0) << 8)
      values[index] = HALVES[bits] ?? 0
    }
  })
  return values
}

/** All 65,536 numbers of half precision. */
const HALVES: Float32Array = Float32Array.from({ length: 65_536 }, (_, bits) => halfOf(bits))

function halfOf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}
