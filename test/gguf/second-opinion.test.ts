import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ggmlType } from '../../src/models/gguf/ggml-types.ts'
import { readGgufModel } from '../../src/models/gguf/read-gguf-facts.ts'

const ENGINE = resolve(
  import.meta.dirname,
  '../../.cache/engines/node-llama-cpp/node_modules/node-llama-cpp/dist/index.js',
)
const TINY_CHAT = resolve(import.meta.dirname, '../models/tiny-chat/tiny-chat.gguf')

interface Bindings {
  getBlockSizeForGgmlType(id: number): number | undefined
  getTypeSizeForGgmlType(id: number): number | undefined
}

interface EngineModule {
  getLlama: (options: object) => Promise<{ _bindings: Bindings; dispose(): Promise<void> }>
  readGgufFileInfo: (path: string) => Promise<{
    architectureMetadata: { block_count: number; context_length: number; embedding_length: number }
    tensorInfo: { dimensions: (number | bigint)[] }[]
  }>
}

// The engine is fetched by `npm start` and `npm test` into .cache; without a network there is nobody to ask.
describe.skipIf(!existsSync(ENGINE))('the installed engine agrees with our reader', () => {
  it('on the block sizes of all tensor types, and on which are withdrawn', async () => {
    const { getLlama } = (await import(pathToFileURL(ENGINE).href)) as EngineModule
    const llama = await getLlama({ gpu: false, build: 'never' })
    const ids = Array.from({ length: 43 }, (_, id) => id)
    const theirs = ids.map((id) => [
      id,
      llama._bindings.getBlockSizeForGgmlType(id) || undefined,
      llama._bindings.getTypeSizeForGgmlType(id) || undefined,
    ])
    await llama.dispose()
    expect(ids.map((id) => [id, ggmlType(id)?.blockSize, ggmlType(id)?.blockBytes])).toEqual(theirs)
  })

  it('on the shape of a real model', async () => {
    const { readGgufFileInfo } = (await import(pathToFileURL(ENGINE).href)) as EngineModule
    const { architectureMetadata, tensorInfo } = await readGgufFileInfo(TINY_CHAT)
    const { facts } = await readGgufModel(TINY_CHAT)
    expect(facts).toMatchObject({
      layers: architectureMetadata.block_count,
      contextLength: architectureMetadata.context_length,
      embeddingLength: architectureMetadata.embedding_length,
      parameterCount: tensorInfo.reduce(
        (sum, { dimensions }) =>
          sum + dimensions.reduce((product: number, size) => product * Number(size), 1),
        0,
      ),
    })
  })
})
