import { isMap } from '../../base/is-map.ts'
import type { ReadDocument } from './document-reader.ts'
import { unreadable } from './upstream-error.ts'

/** The vectors of so many inputs; a batch of which only some come back is no answer (BR-34). */
export function vectorParts(model: string, inputs: number): ReadDocument {
  return ({ data }) => {
    const vectors = vectorsIn(data, inputs)
    if (vectors.length !== inputs)
      throw unreadable(model, `${vectors.length} whole vectors for ${inputs} inputs`)
    return vectors.map((vector, index) => ({ type: 'vector', index, vector }))
  }
}

/** In the order of their inputs; those that are whole. Some servers give no index: then they stand in order. */
function vectorsIn(data: unknown, inputs: number): Float32Array[] {
  const vectors: Float32Array[] = []
  for (const [place, entry] of (Array.isArray(data) ? (data as unknown[]) : []).entries()) {
    const { index = place, embedding } = isMap(entry) ? entry : {}
    const vector = vectorOf(embedding)
    const fits = typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < inputs
    if (fits && vector !== undefined) vectors[index] = vector
  }
  return Object.values(vectors)
}

/** Numbers, or base64 of little-endian float32 where the wish for numbers is not heard (BR-32). */
function vectorOf(embedding: unknown): Float32Array | undefined {
  if (typeof embedding === 'string') {
    const bytes = Buffer.from(embedding, 'base64')
    const floats = Array.from({ length: bytes.length >> 2 }, (_, at) => bytes.readFloatLE(4 * at))
    return floats.length > 0 ? Float32Array.from(floats) : undefined
  }
  if (!Array.isArray(embedding) || embedding.length === 0) return undefined
  return embedding.every((value) => typeof value === 'number') ? Float32Array.from(embedding) : undefined
}
