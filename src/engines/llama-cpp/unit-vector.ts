/** The first `dimensions` values (all when absent), scaled to length 1. A vector of nothing but zeros stays so. */
export function fitted(vector: readonly number[], dimensions: number = vector.length): Float32Array {
  const cut = vector.slice(0, dimensions)
  const length = Math.sqrt(cut.reduce((sum, value) => sum + value * value, 0))
  return Float32Array.from(cut, (value) => (length === 0 ? 0 : value / length))
}
