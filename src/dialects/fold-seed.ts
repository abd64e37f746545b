/** Any integer to 32 unsigned bits: the same seed always gives the same one. */
export function foldSeed(seed: number): number {
  return Number(BigInt.asUintN(32, BigInt(seed)))
}
