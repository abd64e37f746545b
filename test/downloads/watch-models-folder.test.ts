import { copyFileSync, writeFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import { scanModelsFolder } from '../../src/models/discovery/scan-models-folder.ts'
import { type FolderWatch, watchModelsFolder } from '../../src/models/discovery/watch-models-folder.ts'

const TINY_CHAT = resolve(import.meta.dirname, '../models/tiny-chat/tiny-chat.gguf')

let folder: string
let watch: FolderWatch
let calls = 0
let seen: string[] = []
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'watch-')), 'not yet there')
  calls = 0
  seen = []
  watch = await watchModelsFolder({
    folder,
    clock: new SystemClock(),
    onProblem: (message) => {
      throw new Error(message)
    },
    onChange: async () => {
      calls++
      seen = (await scanModelsFolder(folder)).models.map(({ name }) => name)
    },
  })
})
afterEach(async () => {
  await watch.close()
  await rm(join(folder, '..'), { recursive: true })
})

async function expectSeen(names: string[]): Promise<void> {
  await vi.waitFor(() => expect(seen).toEqual(names), 20_000)
}

describe('watchModelsFolder (S1)', () => {
  it('tells of models that are copied in, renamed and removed, also in folders made later', async () => {
    await copyFile(TINY_CHAT, join(folder, 'a.gguf'))
    await expectSeen(['a.gguf'])
    await mkdir(join(folder, 'sub'))
    await copyFile(TINY_CHAT, join(folder, 'sub/b.gguf'))
    await expectSeen(['a.gguf', 'sub/b.gguf'])
    await rename(join(folder, 'a.gguf'), join(folder, 'c.gguf'))
    await rm(join(folder, 'sub/b.gguf'))
    await expectSeen(['c.gguf'])
    expect(calls).toBeGreaterThan(0)
  })

  it('joins changes that come together, and counts no files on their way', async () => {
    for (let index = 0; index < 20; index++) writeFileSync(join(folder, `m${index}.gguf.part`), 'x')
    // Nothing is told in between, however slow the disk is.
    for (let index = 0; index < 5; index++) copyFileSync(TINY_CHAT, join(folder, `m${index}.gguf`))
    await vi.waitFor(() => expect(seen).toHaveLength(5), 20_000)
    expect(calls).toBeLessThanOrEqual(2)
  })
})
