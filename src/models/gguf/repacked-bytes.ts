import type { GgufTensor } from './gguf-header.ts'

/**
 * Quantisations whose weights llama.cpp's CPU backend copies into private memory in another order, and the multiple their rows must
 * come in. From `ggml_repack_get_optimal_repack_type`; on x64 with AVX2 (Q2_K: AVX-512, counted to be on the safe side).
 */
const REPACKED: Readonly<Record<string, { types: ReadonlySet<string>; rows: number }>> = {
  x64: { types: new Set(['Q4_0', 'Q4_K', 'Q2_K', 'IQ4_NL', 'MXFP4']), rows: 8 },
  arm64: { types: new Set(['Q4_0', 'Q4_K', 'Q5_K', 'Q6_K', 'Q8_0', 'IQ4_NL', 'MXFP4']), rows: 4 },
}

const EMBEDDINGS = new Set(['token_embd.weight', 'per_layer_token_embd.weight', 'position_embd.weight'])

/** Bytes of the tensors that lie twice in memory on this kind of processor. Embeddings are looked up, not multiplied, and stay mapped. */
export function repackedBytes(tensors: readonly GgufTensor[], processor: string = process.arch): number {
  const rule = REPACKED[processor]
  if (rule === undefined) return 0
  // A model without an output matrix multiplies with its token embeddings, so they are copied as well.
  const tied = !tensors.some(({ name }) => name === 'output.weight')
  return tensors
    .filter(({ name }) => !EMBEDDINGS.has(name) || (tied && name === 'token_embd.weight'))
    .filter(({ type, dimensions }) => rule.types.has(type) && isMatrix(dimensions, rule.rows))
    .reduce((sum, { bytes }) => sum + bytes, 0)
}

function isMatrix(dimensions: readonly number[], multiple: number): boolean {
  const rows = dimensions[1]
  return rows !== undefined && rows > 1 && rows % multiple === 0
}
