import { either, mapOf } from '../base/compound-shapes.ts'
import { size } from '../base/scalar-shapes.ts'
import type { Shape } from '../base/shape.ts'
import { footprintTotal, type Footprint, type MeasuredFootprint, type MemoryDomain } from '../host/memory.ts'

/** Bytes per domain that somebody says a model takes, where nobody can measure. */
export type DeclaredMemory = Partial<Record<MemoryDomain, number>>

const DOMAIN = { pattern: /^(ram|gpu:\d+)$/, wants: '"ram" or a device such as "gpu:0"' }

/** How it is written: bytes of `ram`, or bytes per domain. */
export function declaredMemory(): Shape<DeclaredMemory> {
  const shape = either<[number, Record<string, number>]>(size(), mapOf(size(), DOMAIN))
  return {
    ...shape,
    read(value, path, context) {
      const sizes = shape.read(value, path, context)
      return typeof sizes === 'number' ? { ram: sizes } : sizes
    },
  }
}

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
