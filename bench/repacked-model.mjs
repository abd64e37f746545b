import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { createJiti } from 'jiti'
import { ROOT } from './server.mjs'

const FILE = join(ROOT, '.cache/bench/smollm2-shape-q4_0.gguf')

/**
 * A model of SmolLM2's shape with random weights in Q4_0, which llama.cpp repacks for the processor at hand, as it does for most models
 * in use; it does not for the Q4_1 of the real file.
 */
export async function repackedModel() {
  if (existsSync(FILE)) return FILE
  console.error('making a model in Q4_0 …')
  mkdirSync(join(FILE, '..'), { recursive: true })
  const { makeTinyModel } = await createJiti(import.meta.url).import(
    join(ROOT, 'test/models/make-tiny-gguf.ts'),
  )
  makeTinyModel(`${FILE}.new`, {
    dimension: 576,
    layers: 30,
    heads: 9,
    keyValueHeads: 3,
    feedForward: 1536,
    vocabularySize: 49_152,
    type: 'q4_0',
  })
  renameSync(`${FILE}.new`, FILE)
  return FILE
}
