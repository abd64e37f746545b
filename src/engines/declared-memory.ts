import { footprintTotal, type Footprint, type MeasuredFootprint, type MemoryDomain } from '../host/memory.ts'

/** Bytes per domain that somebody says a model takes, where nobody can measure. */
export type DeclaredMemory = Partial<Record<MemoryDomain, number>>

export function declaredBytes(memory: DeclaredMemory): number {
  return Object.values(memory).reduce<number>((sum, bytes = 0) => sum + bytes, 0)
}

export function declaredFootprint(memory: DeclaredMemory): Footprint {
  const footprint: Footprint = {}
  for (const [domain, weights = 0] of Object.entries(memory)) {
    footprint[domain as MemoryDomain] = { weights, context: 0, compute: 0, base: 0 }
  }
  return footprint
}

/** What was promised, as if it had been measured. */
export function asMeasured(footprint: Footprint): MeasuredFootprint {
  const measured: MeasuredFootprint = {}
  for (const [domain, terms] of Object.entries(footprint)) {
    const bytes = terms === undefined ? 0 : footprintTotal(terms)
    measured[domain as MemoryDomain] = { private: bytes, shared: 0 }
  }
  return measured
}
