import { endianness } from 'node:os'
import { ModelyardError } from '../../base/errors.ts'
import type { Part, Result } from '../../tasks/part.ts'
import { NO_USAGE, type Usage } from '../../tasks/usage.ts'
import type { RunEncoder } from '../dialect.ts'
import { encodeError } from './encode-error.ts'

/** A vector as the base64 of little-endian 32-bit floats: what official SDKs ask for by default (BR-32). */
export function encodeVector(vector: Float32Array): string {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)
  return (endianness() === 'LE' ? bytes : Buffer.from(bytes).swap32()).toString('base64')
}

/** Vectors in the order of the inputs, one for each (BR-34). */
export class EmbeddingAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly fail: RunEncoder['fail'] = encodeError
  readonly #model: string
  readonly #format: 'float' | 'base64'
  readonly #vectors: (Float32Array | undefined)[]
  #usage: Usage = NO_USAGE

  constructor(model: string, format: 'float' | 'base64', count: number) {
    this.#model = model
    this.#format = format
    this.#vectors = Array.from({ length: count })
  }

  part(part: Part): string {
    if (part.type === 'vector') this.#vectors[part.index] = part.vector
    return ''
  }

  end(result: Result): string {
    this.#usage = result.usage
    return ''
  }

  finish(): string {
    return JSON.stringify({
      object: 'list',
      data: this.#vectors.map((vector, index) => this.#entry(vector, index)),
      model: this.#model,
      usage: { prompt_tokens: this.#usage.promptTokens, total_tokens: this.#usage.promptTokens },
    })
  }

  #entry(vector: Float32Array | undefined, index: number): Record<string, unknown> {
    if (vector === undefined) {
      throw new ModelyardError('engine_failed', `The engine gave no vector for input ${index}.`)
    }
    const embedding = this.#format === 'base64' ? encodeVector(vector) : Array.from(vector)
    return { object: 'embedding', index, embedding }
  }
}
