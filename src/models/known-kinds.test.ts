import { mkdir, rm, utimes, writeFile } from 'node:fs/promises'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { KnownKinds, type KindMemory, type PlacedModel } from './known-kinds.ts'
import type { ModelFacts } from './model-facts.ts'

const folder = mkdtempSync(join(tmpdir(), 'kinds-'))
afterAll(async () => rm(folder, { recursive: true, force: true }))

/** A file and how often it was read. */
async function modelOf(
  name: string,
  facts?: Partial<ModelFacts>,
): Promise<PlacedModel & { reads: () => number }> {
  const path = join(folder, name)
  await writeFile(path, name)
  let reads = 0
  return {
    path,
    reads: () => reads,
    inspect: async () => {
      reads += 1
      if (facts === undefined) throw new Error('damaged')
      return { format: 'gguf', fileSize: 1, contentId: '', purpose: 'generation', ...facts }
    },
  }
}

function memory(): KindMemory & { writes: () => number } {
  const values = new Map<string, unknown>()
  let writes = 0
  return {
    read: (key) => values.get(key),
    write: (key, value) => {
      writes += 1
      values.set(key, structuredClone(value))
    },
    writes: () => writes,
  }
}

describe('KnownKinds', () => {
  it('reads a file once, also for the next process, and again when it changed', async () => {
    const model = await modelOf('a.gguf', { purpose: 'embedding', gguf: { fileType: 'Q8_0' } as never })
    const kept = memory()
    const kinds = new KnownKinds(kept)
    expect(kinds.peek(model.path)).toBeUndefined()
    for (const open of [() => kinds, () => kinds, () => new KnownKinds(kept)]) {
      const known = open()
      await known.look([model])
      expect(known.peek(model.path)).toEqual({ format: 'gguf', purpose: 'embedding', quantization: 'Q8_0' })
    }
    expect([model.reads(), kept.writes()]).toEqual([1, 1])
    await utimes(model.path, 1, 1)
    await kinds.look([model])
    expect([model.reads(), kept.writes()]).toEqual([2, 2])
  })

  it('sees that the configuration of a folder changed', async () => {
    const path = join(folder, 'model')
    await mkdir(path)
    await writeFile(join(path, 'config.json'), '{}')
    const { inspect, reads } = await modelOf('b', { format: 'safetensors' })
    const kinds = new KnownKinds(memory())
    await kinds.look([{ path, inspect }])
    await writeFile(join(path, 'config.json'), '{"a":1}')
    await kinds.look([{ path, inspect }])
    expect(reads()).toBe(2)
  })

  it('says nothing of files that cannot be read or are gone, and forgets those of models that are', async () => {
    const [good, damaged] = [await modelOf('c.gguf', {}), await modelOf('d.gguf')]
    const kinds = new KnownKinds(memory())
    await kinds.look([good, damaged, { ...good, path: join(folder, 'nowhere') }])
    expect(kinds.peek(good.path)).toEqual({ format: 'gguf', purpose: 'generation' })
    expect(kinds.peek(damaged.path)).toBeUndefined()
    await kinds.look([])
    expect(kinds.peek(good.path)).toBeUndefined()
  })
})
