import type { GgufFacts } from '../../models/model-facts.ts'

/** Everything waits for a batch that is being evaluated: others' tokens, and the answer to an abort. */
const LONGEST_BATCH_SECONDS = 1
/** Multiplications and additions a second that one core of today does at least with quantised weights; 65 · 10⁹ were measured. */
const PER_CORE = 30e9
const LEAST = 32
const MOST_ON_CPU = 512
const ON_GPU = 2048

export interface BatchConditions {
  cores: number
  onGpu: boolean
  /** Tokens a second in prefill, where this model was measured on this machine. */
  measuredSpeed?: number | undefined
}

/** Tokens evaluated at once, a power of two, so that no prefill blocks the others for more than a second. */
export function batchSizeFor(gguf: GgufFacts, { cores, onGpu, measuredSpeed }: BatchConditions): number {
  if (onGpu && measuredSpeed === undefined) return ON_GPU
  const speed = measuredSpeed ?? (cores * PER_CORE) / (2 * Math.max(1, gguf.parameterCount))
  const largest = 2 ** Math.floor(Math.log2(Math.max(1, speed * LONGEST_BATCH_SECONDS)))
  return Math.min(onGpu ? ON_GPU : MOST_ON_CPU, Math.max(LEAST, largest))
}
