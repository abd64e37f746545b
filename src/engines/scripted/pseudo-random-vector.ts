/** A vector of length 1 that depends on nothing but the text: the same on every machine, far from that of any other text. */
export function pseudoRandomVector(text: string, dimensions: number): Float32Array {
  const next = generator(seedOf(text))
  return normalised(Float32Array.from({ length: dimensions }, () => next() - 0.5))
}

/** The first `dimensions` values, of length 1 again. */
export function shortened(vector: Float32Array, dimensions: number): Float32Array {
  return dimensions >= vector.length ? vector : normalised(vector.slice(0, dimensions))
}

export function normalised(vector: Float32Array): Float32Array {
  const norm = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return norm === 0 ? vector : vector.map((value) => value / norm)
}

/** FNV-1a over the UTF-16 units. */
function seedOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return hash >>> 0
}

/** mulberry32: numbers from 0 to 1, evenly spread. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
