import { ggmlType, type GgmlType } from './ggml-types.ts'
import type { GgufTensor } from './gguf-header.ts'
import type { HeaderCursor } from './header-cursor.ts'
import { invalidFile, truncatedFile } from './invalid-file.ts'
import { MAX_DIMENSIONS, MAX_TENSOR_NAME_BYTES, MAX_TENSORS } from './limits.ts'

/** Bytes of the longest record of one tensor; ensured at once. */
const RECORD = 8 + MAX_TENSOR_NAME_BYTES + 4 + MAX_DIMENSIONS * 8 + 4 + 8

/** Reads the list of tensors and checks that all of them lie in the file. @throws model_file_invalid */
export async function readTensors(
  cursor: HeaderCursor,
  count: number,
  alignment: number,
): Promise<GgufTensor[]> {
  // A tensor is at least 8 bytes of length, 4 + 8 of one dimension, 4 of type and 8 of offset.
  cursor.expect(count * 32)
  if (count > MAX_TENSORS)
    throw invalidFile(cursor.path, `declares ${count} tensors; at most ${MAX_TENSORS}.`)
  const reader = new TensorReader(cursor, alignment)
  for (let index = 0; index < count; index++) await reader.readTensor()
  reader.checkExtent()
  return reader.tensors
}

class TensorReader {
  readonly tensors: GgufTensor[] = []
  readonly #names = new Set<string>()
  readonly #cursor: HeaderCursor
  readonly #alignment: number
  /** End of the furthest tensor, from the beginning of the data. */
  #end = 0

  constructor(cursor: HeaderCursor, alignment: number) {
    this.#cursor = cursor
    this.#alignment = alignment
  }

  async readTensor(): Promise<void> {
    const cursor = this.#cursor
    await cursor.ensure(Math.min(RECORD, cursor.remaining))
    const name = await this.#readName()
    await cursor.ensure(4)
    const dimensions = await this.#readDimensions(name)
    await cursor.ensure(12)
    const type = this.#knownType(name, cursor.uint32())
    const bytes = this.#storedBytes(name, dimensions, type)
    this.#place(name, cursor.uint64(), bytes)
    this.tensors.push({ name, dimensions, type: type.name, bytes })
  }

  async #readName(): Promise<string> {
    await this.#cursor.ensure(8)
    const length = this.#cursor.uint64()
    this.#cursor.expect(length)
    if (length > MAX_TENSOR_NAME_BYTES)
      throw this.#invalid(`is corrupt: a tensor's name has ${length} bytes.`)
    await this.#cursor.ensure(length)
    const name = this.#cursor.text(length)
    if (this.#names.has(name)) throw this.#invalid(`has the tensor "${name}" twice.`)
    this.#names.add(name)
    return name
  }

  async #readDimensions(name: string): Promise<number[]> {
    const count = this.#cursor.uint32()
    if (count < 1 || count > MAX_DIMENSIONS) {
      throw this.#invalid(`is corrupt: the tensor "${name}" has ${count} dimensions.`)
    }
    await this.#cursor.ensure(count * 8)
    const dimensions = Array.from({ length: count }, () => this.#cursor.uint64())
    // ggml divides by them, so zero would end its process.
    if (dimensions.includes(0)) throw this.#invalid(`is corrupt: the tensor "${name}" has a dimension of 0.`)
    return dimensions
  }

  #knownType(name: string, id: number): GgmlType {
    const type = ggmlType(id)
    if (type !== undefined) return type
    throw this.#invalid(`has the tensor "${name}" in the unknown type ${id}; a newer version may know it.`)
  }

  #storedBytes(name: string, dimensions: number[], type: GgmlType): number {
    const row = dimensions[0] ?? 0
    if (row % type.blockSize !== 0) {
      throw this.#invalid(
        `is corrupt: rows of "${name}" have ${row} values, no multiple of ${type.blockSize} (${type.name}).`,
      )
    }
    const values = dimensions.reduce((product, dimension) => product * dimension, 1)
    return (values / type.blockSize) * type.blockBytes
  }

  #place(name: string, offset: number, bytes: number): void {
    if (offset % this.#alignment !== 0) {
      throw this.#invalid(
        `is corrupt: the tensor "${name}" lies at ${offset}, not aligned to ${this.#alignment}.`,
      )
    }
    this.#end = Math.max(this.#end, offset + bytes)
  }

  /** The data begin at the next aligned offset after the header. */
  checkExtent(): void {
    const begin = Math.ceil(this.#cursor.position / this.#alignment) * this.#alignment
    const expected = begin + this.#end
    if (this.tensors.length > 0 && !(expected <= this.#cursor.size)) {
      throw truncatedFile(this.#cursor.path, expected, this.#cursor.size)
    }
  }

  #invalid(problem: string): Error {
    return invalidFile(this.#cursor.path, problem)
  }
}
