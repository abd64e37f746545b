import { endianness } from 'node:os'
import type { Part } from '../../tasks/part.ts'
import { ListAnswer } from './list-answer.ts'

/** A vector as the base64 of little-endian 32-bit floats: what official SDKs ask for by default (BR-32). */
export function encodeVector(vector: Float32Array): string {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)
  return (endianness() === 'LE' ? bytes : Buffer.from(bytes).swap32()).toString('base64')
}

/** Vectors in the order of the inputs, one for each (BR-34). */
export class EmbeddingAnswer extends ListAnswer<Float32Array> {
  readonly #model: string
  readonly #format: 'float' | 'base64'

  constructor(model: string, format: 'float' | 'base64', count: number) {
    super('vector for input', count)
    this.#model = model
    this.#format = format
  }

  protected override valueOf(part: Part): { index: number; value: Float32Array } | undefined {
    return part.type === 'vector' ? { index: part.index, value: part.vector } : undefined
  }

  protected override fields(vectors: readonly Float32Array[]): Record<string, unknown> {
    return { data: vectors.map(this.#entry), model: this.#model }
  }

  readonly #entry = (vector: Float32Array, index: number): Record<string, unknown> => {
    const embedding = this.#format === 'base64' ? encodeVector(vector) : Array.from(vector)
    return { object: 'embedding', index, embedding }
  }
}
