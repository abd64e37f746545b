import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SystemClock } from '../base/clock.ts'
import { specOf } from './__fixtures__/model-spec.ts'
import { ArtifactStore } from './artifact-store.ts'
import { CATALOG } from './catalog.ts'
import { writeRecord } from './downloads/artifact-record.ts'
import type { ModelSpec } from './model-spec.ts'
import { ModelRegistry } from './registry.ts'

let folder: string
let store: ArtifactStore
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'registry-'))
  store = new ArtifactStore({ folder: join(folder, 'models'), clock: new SystemClock() })
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

function registry(specs: ModelSpec[] = []): ModelRegistry {
  return new ModelRegistry({ specs, artifacts: store, defaultSpec: (id, source) => specOf(id, { source }) })
}

/** A file in the models folder; with sources as if it had been fetched. */
async function put(name: string, sources: string[] = []): Promise<string> {
  const path = join(folder, 'models', name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, 'weights')
  const sha256 = 'd93bc6cef7dd3c3c5b06e8b4d6e0a1b7c6e7a1f36d2c6dd8a5bbb4a3b9f3ad6c'
  if (sources.length > 0) await writeRecord(path, path, { sources, sha256, fetchedAt: 0 })
  return path
}

const ids = (of: ModelRegistry): string[] => of.list().map(({ id }) => id)

describe('ModelRegistry', () => {
  it('resolves ids and aliases of the configuration', () => {
    const models = registry([specOf('a', { aliases: ['b'] }), specOf('c')])
    expect(models.resolve('a').id).toBe('a')
    expect(models.resolve('b').id).toBe('a')
    expect(ids(models)).toEqual(['a', 'c'])
  })

  it.each([
    ['a', 'a'],
    ['a:latest', 'a'],
    ['b:latest', 'b:latest'],
    ['b', 'b:latest'],
    ['c:7b', 'c:7b'],
    ['org/d', 'org/d'],
    ['hf.co/org/d', 'org/d'],
    ['huggingface.co/org/d:latest', 'org/d'],
    ['also-a:latest', 'a'],
  ])('BR-37: %s is %s', (name, id) => {
    const specs = [specOf('a', { aliases: ['also-a'] }), specOf('b:latest'), specOf('c:7b'), specOf('org/d')]
    expect(registry(specs).resolve(name).id).toBe(id)
  })

  it.each(['c', 'c:latest', 'A', ' a', 'a:', '', ':latest', 'hf.co/a/b'])(
    'BR-37: "%s" is nobody: case, spaces and tags count',
    (name) => {
      const models = registry([specOf('a'), specOf('c:7b')])
      expect(models.has(name)).toBe(false)
      expect(() => models.resolve(name)).toThrow('There is no model')
    },
  )

  it('a name that stands for another model is found, and is not its own', () => {
    const otherNames = (name: string): string | undefined => (name === 'mario' ? 'a' : undefined)
    const models = new ModelRegistry({
      specs: [specOf('a')],
      artifacts: store,
      defaultSpec: (id) => specOf(id),
      otherNames,
    })
    expect(models.resolve('mario').id).toBe('a')
    expect([models.has('mario'), models.has('a')]).toEqual([false, true])
  })

  it('names what is near to a mistyped name, and how to fetch what the catalog knows', () => {
    const models = registry([specOf('llama-3')])
    expect(() => models.resolve('lama-3')).toThrow('Did you mean "llama-3"?')
    expect(() => models.resolve('smollm2')).toThrow('modelyard pull smollm2')
    expect(() => models.resolve('zzzzzzzzzzzz')).toThrow('modelyard list')
  })

  it('tells which models another configuration adds, removes and changes; the others keep their identity', () => {
    const models = registry([specOf('same'), specOf('gone'), specOf('other')])
    const same = models.resolve('same')
    expect(models.replace([specOf('same'), specOf('other', { slots: 8 }), specOf('new')])).toEqual({
      added: ['new'],
      removed: ['gone'],
      changed: ['other'],
    })
    expect(models.resolve('same')).toBe(same)
    expect(() => models.resolve('gone')).toThrow('There is no model "gone"')
  })

  it('lets the configuration win over the catalog, and the catalog fill in what it does not say', () => {
    const models = registry([
      specOf('small', { source: 'smollm2' }),
      specOf('own', { source: 'smollm2', system: 'Hi', context: 99, defaults: { temperature: 0 } }),
    ])
    const { context, defaults } = CATALOG['smollm2']?.spec ?? {}
    expect(models.resolve('small')).toMatchObject({ system: '', context, defaults })
    expect(models.resolve('own')).toMatchObject({
      system: 'Hi',
      context: 99,
      defaults: { ...defaults, temperature: 0 },
    })
  })

  it('finds files in the models folder, put there by hand or fetched, with stable identity', async () => {
    await put('mine/llama.gguf')
    await put('hf/org/repo/main/m-Q4_K_M.gguf', ['hf:org/repo:Q4_K_M'])
    const models = registry()
    await models.refresh()
    expect(ids(models)).toEqual(['org/repo:Q4_K_M', 'mine/llama'])
    const before = models.resolve('mine/llama')
    expect(models.resolve('llama')).toBe(before)
    await models.refresh()
    expect(models.resolve('mine/llama')).toBe(before)
  })

  it('lists a fetched model of the catalog by its name only, and a configured one by its id only', async () => {
    const [place] = CATALOG['minilm']?.sources ?? []
    await put('hf/second-state/All-MiniLM-L6-v2-Embedding-GGUF/main/all-MiniLM-L6-v2-Q8_0.gguf', [
      place?.source ?? '',
    ])
    await put('hf/org/repo/main/m.gguf', ['hf:org/repo'])
    await put('own.gguf')
    const models = registry([
      specOf('chat', { source: 'hf:org/repo' }),
      specOf('mine', { source: join(folder, 'models/own.gguf') }),
    ])
    await models.refresh()
    expect(ids(models)).toEqual(['chat', 'mine', 'minilm'])
  })

  it('forgets a found file that is gone', async () => {
    const path = await put('m.gguf')
    const models = registry()
    await models.refresh()
    await rm(path)
    await models.refresh()
    expect(ids(models)).toEqual([])
  })

  it('tells of broken models and links', async () => {
    await put('m-00001-of-00002.gguf')
    await symlink(join(folder, 'none'), join(folder, 'models/x.gguf'))
    const models = registry()
    await models.refresh()
    expect(models.placeOf('m').missing?.reason).toContain('m-00002-of-00002.gguf is missing')
    expect(models.folderProblems()).toHaveLength(1)
  })

  it('tells of a configured model whose file is not there, and of two names of one file', async () => {
    const path = await put('own.gguf')
    await symlink(path, join(folder, 'link.gguf'))
    const gone = join(folder, 'gone.gguf')
    const models = registry([
      specOf('mine', { source: path }),
      specOf('again', { source: join(folder, 'link.gguf') }),
      specOf('lost', { source: gone }),
      specOf('later', { source: 'hf:org/repo' }),
      specOf('scripted'),
    ])
    await models.refresh()
    expect(['mine', 'again', 'lost', 'later', 'scripted'].map((id) => models.placeOf(id))).toEqual([
      { path },
      { path: join(folder, 'link.gguf'), sameFileAs: 'mine' },
      {
        missing: {
          reason: `There is no file ${gone}.`,
          remedy: 'Put the model there, or correct its place in the configuration.',
        },
      },
      {},
      {},
    ])
    await writeFile(gone, 'weights')
    await models.refresh()
    expect(models.placeOf('lost')).toEqual({ path: gone })
  })

  it('gives the path of local files and none for engines without weights', async () => {
    const path = await put('m.gguf')
    const models = registry()
    expect(await models.ensureArtifacts(specOf('a', { source: path }))).toBe(path)
    expect(await models.ensureArtifacts(specOf('b'))).toBeUndefined()
    await expect(models.ensureArtifacts(specOf('c', { source: join(folder, 'gone.gguf') }))).rejects.toThrow(
      'There is no file',
    )
  })
})

describe('removing (S6)', () => {
  it('tells what comes free before anything is deleted', async () => {
    const path = await put('hf/org/repo/main/m.gguf', ['hf:org/repo'])
    const models = registry([specOf('a', { source: 'hf:org/repo' })])
    expect(await models.planRemoval('a')).toEqual({ path, bytes: 7, keptFor: [] })
    expect(await readdir(dirname(path))).toHaveLength(2)
    expect(await models.remove('a')).toEqual({ path, bytes: 7, keptFor: [] })
    expect(existsSync(dirname(path)), 'a folder of which nothing is left goes, too').toBe(false)
    expect(models.resolve('a').id).toBe('a')
  })

  it('keeps files that another model has as well (S4)', async () => {
    const path = await put('hf/org/repo/main/m.gguf', ['hf:org/repo', 'hf:org/repo/m.gguf'])
    const models = registry([
      specOf('a', { source: 'hf:org/repo' }),
      specOf('b', { source: 'hf:org/repo/m.gguf' }),
    ])
    expect(await models.remove('a')).toEqual({ path, bytes: 0, keptFor: ['b'] })
    expect(await readdir(dirname(path))).toHaveLength(2)
  })

  it('never deletes what it did not fetch', async () => {
    const path = await put('mine.gguf')
    const models = registry()
    await models.refresh()
    await expect(models.remove('mine')).rejects.toMatchObject({ code: 'invalid_request', details: { path } })
    await expect(registry([specOf('a', { source: 'hf:org/none' })]).remove('a')).rejects.toMatchObject({
      code: 'model_not_found',
    })
  })
})
