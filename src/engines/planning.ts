import { createHash } from 'node:crypto'
import type { ModelSpec } from '../models/model-spec.ts'
import type { HostFacts } from './engine.ts'

/** Threads that compute: one core is left to the server, as far as there are several, unless somebody named another number (R17). */
export function threadsOf({ device }: ModelSpec, { cores }: HostFacts): number {
  return Math.max(1, Math.min(device.threads ?? cores - 1, cores))
}

/** One text for all that decides what is loaded: equal for equal parts, in JSON. */
export function hashOf(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
