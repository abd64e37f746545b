import { copyFile, mkdtemp, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { weightsId } from './weights-id.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weights-id-'))
})
afterAll(async () => rm(folder, { recursive: true }))

describe('the identity of weights', () => {
  it('stays when the file is moved or copied with its time', async () => {
    const [before, after, copy] = ['a', 'b', 'c'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ]
    await writeFile(before, Buffer.alloc(3_000_000, 7))
    const id = await weightsId([before])
    await rename(before, after)
    expect(await weightsId([after])).toBe(id)
    await copyFile(after, copy)
    const { atime, mtime } = await stat(after)
    await utimes(copy, atime, mtime)
    await utimes(after, atime, mtime)
    expect(await weightsId([copy])).toBe(await weightsId([after]))
  })

  it('BR-51: is another one when the file was replaced, though size and time are the same', async () => {
    const path = join(folder, 'weights')
    const time = new Date(1_700_000_000_000)
    const identity = async (fill: number): Promise<string> => {
      await writeFile(path, Buffer.alloc(500_000, fill))
      await utimes(path, time, time)
      return weightsId([path])
    }
    expect(await identity(1)).toBe(await identity(1))
    expect(await identity(1)).not.toBe(await identity(2))
  })

  it('is another one when the file was written again later', async () => {
    const path = join(folder, 'again')
    await writeFile(path, 'same')
    const id = await weightsId([path])
    await utimes(path, new Date(), new Date(1_000_000))
    expect(await weightsId([path])).not.toBe(id)
  })
})
