import type { Usage } from '../tasks/usage.ts'
import type { Run, RunInfo } from './run.ts'

/** Vectors in the order of the inputs. */
export interface Embeddings {
  vectors: Float32Array[]
  usage: Usage
  info: RunInfo
}

/** Runs an embedding to its end. @throws ModelyardError as the run does; a call that was aborted or timed out rejects (P13) */
export async function collectVectors(run: Run): Promise<Embeddings> {
  const vectors: Float32Array[] = []
  for (;;) {
    const next = await run.parts.next()
    if (next.done === true) return { vectors, usage: next.value.usage, info: run.info }
    if (next.value.type === 'vector') vectors[next.value.index] = next.value.vector
  }
}
