import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isSealedFor, sealSlotFile } from './slot-file.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'slot-file-'))
})
afterAll(async () => rm(folder, { recursive: true }))

async function sealed(body: Buffer): Promise<string> {
  const path = join(folder, 'state')
  await writeFile(path, body)
  expect(await sealSlotFile(path, 'me')).toBe((await readFile(path)).length)
  return path
}

describe('the file of a parked context', () => {
  it('is known by the identity it was sealed with, and by no other', async () => {
    const path = await sealed(Buffer.alloc(3_000_000, 5))
    expect(await isSealedFor(path, 'me')).toBe(true)
    expect(await isSealedFor(path, 'you')).toBe(false)
  })

  it('keeps what the engine wrote in front', async () => {
    const path = await sealed(Buffer.from('state'))
    expect((await readFile(path)).subarray(0, 5).toString()).toBe('state')
  })

  it('with any byte changed, added or missing is refused', async () => {
    const path = await sealed(Buffer.from('a state of some bytes'))
    const whole = await readFile(path)
    for (let place = 0; place < whole.length; place++) {
      const damaged = Buffer.from(whole)
      damaged[place] = (damaged[place] ?? 0) ^ 0x40
      await writeFile(path, damaged)
      expect(await isSealedFor(path, 'me')).toBe(false)
    }
    for (const other of [
      whole.subarray(0, -1),
      whole.subarray(1),
      Buffer.concat([whole, Buffer.alloc(1)]),
      Buffer.alloc(0),
    ]) {
      await writeFile(path, other)
      expect(await isSealedFor(path, 'me')).toBe(false)
    }
    await writeFile(path, whole)
    expect(await isSealedFor(path, 'me')).toBe(true)
  })

  it('that is not there is refused', async () => {
    expect(await isSealedFor(join(folder, 'none'), 'me')).toBe(false)
  })
})
