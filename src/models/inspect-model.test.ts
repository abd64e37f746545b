import {
  copyFile,
  link,
  mkdir,
  mkdtemp,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { buildLlama, text } from '../../test/gguf/build-gguf.ts'
import { ModelInspector } from './inspect-model.ts'

const TINY_CHAT = resolve(import.meta.dirname, '../../test/models/tiny-chat/tiny-chat.gguf')

let folder: string
let inspector: ModelInspector
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inspect-'))
  inspector = new ModelInspector()
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

describe('ModelInspector', () => {
  it('gives path, size, purpose and facts', async () => {
    const facts = await inspector.inspect(TINY_CHAT)
    expect(facts).toMatchObject({
      format: 'gguf',
      path: TINY_CHAT,
      fileSize: 1_459_296,
      purpose: 'generation',
    })
    expect(facts.gguf?.architecture).toBe('qwen2')
  })

  it('remembers what it saw while the file is the same', async () => {
    const first = await inspector.inspect(TINY_CHAT)
    expect(await inspector.inspect(TINY_CHAT)).toBe(first)
    expect(await inspector.inspect(relative(process.cwd(), TINY_CHAT))).toBe(first)
  })

  it.each(['mo dels/モデル é\'"$(x)/a b.gguf', 'ü/ß.gguf'])('reads %s (BR-24)', async (name) => {
    const path = join(folder, name)
    await mkdir(resolve(path, '..'), { recursive: true })
    await copyFile(TINY_CHAT, path)
    expect((await inspector.inspect(path)).path).toBe(path)
  })

  it('sees a file replaced under the same name, and its content has another identity (BR-26, BR-51)', async () => {
    const path = join(folder, 'm.gguf')
    await writeFile(path, buildLlama({ 'general.name': text('one') }))
    const before = await inspector.inspect(path)
    await writeFile(join(folder, 'new'), buildLlama({ 'general.name': text('two') }))
    await rename(join(folder, 'new'), path)
    const after = await inspector.inspect(path)
    expect([before.gguf?.name, after.gguf?.name]).toEqual(['one', 'two'])
    expect(after.contentId).not.toBe(before.contentId)
  })

  it('says that a removed file is gone (BR-26)', async () => {
    const path = join(folder, 'm.gguf')
    await copyFile(TINY_CHAT, path)
    await inspector.inspect(path)
    await rm(path)
    await expect(inspector.inspect(path)).rejects.toMatchObject({
      code: 'model_not_found',
      message: expect.stringContaining('There is no file') as string,
    })
  })

  it('refuses a file truncated in place since it was seen (BR-26)', async () => {
    const path = join(folder, 'm.gguf')
    await copyFile(TINY_CHAT, path)
    await inspector.inspect(path)
    await truncate(path)
    await expect(inspector.inspect(path)).rejects.toMatchObject({ code: 'model_file_invalid' })
  })

  it('gives two names of one file one identity, and two copies two: copies share no pages (R4)', async () => {
    const path = join(folder, 'm.gguf')
    await copyFile(TINY_CHAT, path)
    await symlink(path, join(folder, 'soft.gguf'))
    await link(path, join(folder, 'hard.gguf'))
    await copyFile(path, join(folder, 'copy.gguf'))
    await utimes(join(folder, 'copy.gguf'), 1, 1)
    const ids = await Promise.all(
      ['m', 'soft', 'hard', 'copy'].map(
        async (name) => (await inspector.inspect(join(folder, `${name}.gguf`))).contentId,
      ),
    )
    expect(new Set(ids.slice(0, 3)).size).toBe(1)
    expect(ids[3]).not.toBe(ids[0])
  })

  it('counts the files of all shards, and sees when a later one changes', async () => {
    const split = (no: number): Record<string, { type: 'u16'; value: number }> => ({
      'split.no': { type: 'u16', value: no },
      'split.count': { type: 'u16', value: 2 },
    })
    const first = buildLlama(split(0))
    const second = buildLlama(split(1))
    await writeFile(join(folder, 'm-00001-of-00002.gguf'), first)
    await writeFile(join(folder, 'm-00002-of-00002.gguf'), second)
    const before = await inspector.inspect(join(folder, 'm-00001-of-00002.gguf'))
    expect(before.fileSize).toBe(first.length + second.length)
    await utimes(join(folder, 'm-00002-of-00002.gguf'), 5, 5)
    const after = await inspector.inspect(join(folder, 'm-00001-of-00002.gguf'))
    expect(after.contentId).not.toBe(before.contentId)
  })
})
