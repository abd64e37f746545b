import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findLocalModel } from './find-local-model.ts'
import { idsOfFoundModels } from './model-id.ts'
import { scanModelsFolder } from './scan-models-folder.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'scan-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

async function put(...names: string[]): Promise<void> {
  for (const name of names) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), 'weights')
  }
}

async function found(): Promise<string[]> {
  return (await scanModelsFolder(folder)).models.map(({ name }) => name)
}

async function ids(): Promise<string[]> {
  return [...idsOfFoundModels((await scanModelsFolder(folder)).models).values()]
}

describe('scanModelsFolder (BR-22)', () => {
  it('finds nothing in a folder that is not there yet', async () => {
    expect(await scanModelsFolder(join(folder, 'none'))).toEqual({ models: [], problems: [] })
  })

  it('finds one model for all shards, opened by the first, in whatever order they were written', async () => {
    await put('m-00002-of-00002.gguf', 'm-00001-of-00002.gguf')
    expect((await scanModelsFolder(folder)).models).toEqual([
      {
        path: join(folder, 'm-00001-of-00002.gguf'),
        name: 'm-00001-of-00002.gguf',
        bytes: 14,
        sources: [],
        companions: [],
      },
    ])
  })

  it.each([
    ['m-00002-of-00002.gguf', 'm-00001-of-00002.gguf'],
    ['m-00001-of-00002.gguf', 'm-00002-of-00002.gguf'],
  ])('names the missing shard when only %s is there', async (there, missing) => {
    await put(there)
    const { models } = await scanModelsFolder(folder)
    expect(models).toHaveLength(1)
    expect(models[0]).toMatchObject({
      path: join(folder, 'm-00001-of-00002.gguf'),
      problem: `its part ${join(folder, missing)} is missing`,
    })
  })

  it('attaches projectors and draft models instead of listing them', async () => {
    await put('m.gguf', 'mmproj-m-f16.gguf', 'm-draft.gguf', 'other/mmproj-x.gguf')
    const { models } = await scanModelsFolder(folder)
    expect(models.map(({ name }) => name)).toEqual(['m.gguf'])
    expect(models[0]?.companions).toEqual([join(folder, 'm-draft.gguf'), join(folder, 'mmproj-m-f16.gguf')])
  })

  it('finds a model once that a linked folder or file shows twice, under its own name', async () => {
    await put('real/m.gguf')
    await symlink(join(folder, 'real'), join(folder, 'a-link'))
    await symlink(join(folder, 'real/m.gguf'), join(folder, 'b.gguf'))
    expect(await found()).toEqual(['real/m.gguf'])
  })

  it('follows a link to a model elsewhere', async () => {
    await put('outside/m.gguf', 'models/x.gguf')
    await symlink(join(folder, 'outside/m.gguf'), join(folder, 'models/linked.gguf'))
    const { models } = await scanModelsFolder(join(folder, 'models'))
    expect(models.map(({ name }) => name)).toEqual(['linked.gguf', 'x.gguf'])
  })

  it('ends circles of links and tells once of links that lead nowhere', async () => {
    await put('sub/m.gguf')
    await symlink(folder, join(folder, 'sub/up'))
    await symlink(join(folder, 'gone.gguf'), join(folder, 'dangling.gguf'))
    const { models, problems } = await scanModelsFolder(folder)
    expect(models.map(({ name }) => name)).toEqual(['sub/m.gguf'])
    expect(problems).toEqual([`${join(folder, 'dangling.gguf')}: a link that leads nowhere`])
  })

  it('sees no parts, records, rests of pip or hidden files, and knows an empty placeholder for what it is (F28)', async () => {
    await put(
      'm.gguf.part',
      'm.gguf.part.json',
      'm.gguf.lock',
      '.hidden.gguf',
      'm.gguf.wheel/member.gguf',
      'notes.txt',
    )
    expect(await found()).toEqual([])
    await writeFile(join(folder, 'empty.gguf'), '')
    expect((await scanModelsFolder(folder)).models[0]?.problem).toBe(`${join(folder, 'empty.gguf')} is empty`)
  })
})

describe('ids of found models (P1, BR-24)', () => {
  it('are the place without ending and numbers, in letters that ids may have', async () => {
    await put('Qwen3-0.6B.Q4_K_M.gguf', 'pub/repo/my model.gguf', 'big-00001-of-00001.gguf', 'é/ß~é.gguf')
    expect((await ids()).sort()).toEqual(['Qwen3-0.6B.Q4_K_M', 'big', 'pub/repo/my-model', 'e/e'].sort())
  })

  it('stay when another file comes that would have the same', async () => {
    await put('my-model.gguf')
    expect(await ids()).toEqual(['my-model'])
    await put('my model.gguf')
    const both = await ids()
    expect(both).toContain('my-model')
    expect(both.find((id) => id !== 'my-model')).toMatch(/^my-model-[0-9a-f]{6}$/)
  })

  it('are there for names of which no letter is left, and differ', async () => {
    await put('モデル.gguf', '$(x).gguf', '模型.gguf')
    const all = await ids()
    expect(new Set(all).size).toBe(3)
    for (const id of all) expect(id).toMatch(/^(model|x)(-[0-9a-f]{6})?$/)
  })

  it('are the source of fetched models, in short', async () => {
    const fetched = [
      'hf:org/repo:Q4_K_M',
      'hf:org/repo/sub/m.gguf@v1',
      'hf:org/repo',
      'pip:p==1/d/w.gguf',
      'https://h.example/a/u%20v.gguf?x',
    ].map((source, index) => ({ path: '', name: `${index}`, bytes: 1, sources: [source], companions: [] }))
    expect([...idsOfFoundModels(fetched).values()].sort()).toEqual(
      ['org/repo:Q4_K_M', 'org/repo/sub/m:v1', 'org/repo', 'w', 'u-v'].sort(),
    )
  })
})

describe('findLocalModel', () => {
  it('takes the first shard for a later one', async () => {
    await put('m-00001-of-00002.gguf', 'm-00002-of-00002.gguf')
    expect(await findLocalModel(join(folder, 'm-00002-of-00002.gguf'))).toBe(
      join(folder, 'm-00001-of-00002.gguf'),
    )
  })

  it('prefers in a folder the file of the same name, and never a draft model or projector', async () => {
    await put('m/a.gguf', 'm/M.gguf', 'n/n-draft.gguf', 'n/mmproj-n.gguf', 'n/weights.gguf')
    expect(await findLocalModel(join(folder, 'm'))).toBe(join(folder, 'm/M.gguf'))
    expect(await findLocalModel(join(folder, 'n'))).toBe(join(folder, 'n/weights.gguf'))
  })

  it('asks for a name where a folder has several, says so where it has none', async () => {
    await put('m/a.gguf', 'm/b.gguf', 'n/readme.txt')
    await expect(findLocalModel(join(folder, 'm'))).rejects.toThrow('name one: a.gguf, b.gguf')
    await expect(findLocalModel(join(folder, 'n'))).rejects.toMatchObject({ code: 'model_not_found' })
    await expect(findLocalModel(join(folder, 'gone.gguf'))).rejects.toThrow('There is no file')
  })
})
