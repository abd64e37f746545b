import type { FileHandle } from 'node:fs/promises'
import { ModelyardError } from '../../base/errors.ts'

/** A file in a ZIP archive, as the central directory lists it. */
export interface ZipEntry {
  name: string
  /** 0 = stored, 8 = deflated. */
  method: number
  crc32: number
  compressedSize: number
  size: number
  /** Offset of its local header. */
  offset: number
}

const END = 0x06054b50
const END64 = 0x06064b50
const LOCATOR64 = 0x07064b50
const CENTRAL = 0x02014b50
/** The end record is 22 bytes and a comment of at most 65,535. */
const MOST_END = 22 + 65_535
const MOST_DIRECTORY = 16 * 1024 * 1024

/** Finds one file in an archive (a wheel is a ZIP). @throws model_file_invalid for what is no sound archive; undefined = not in it */
export async function findZipEntry(
  file: FileHandle,
  size: number,
  name: string,
): Promise<ZipEntry | undefined> {
  const { offset, bytes } = await locateDirectory(file, size)
  if (bytes > MOST_DIRECTORY || offset + bytes > size) throw brokenZip()
  const directory = await readExactly(file, offset, bytes)
  for (let at = 0; at + 46 <= directory.length;) {
    if (directory.readUInt32LE(at) !== CENTRAL) throw brokenZip()
    const nameBytes = directory.readUInt16LE(at + 28)
    const extraBytes = directory.readUInt16LE(at + 30)
    const end = at + 46 + nameBytes + extraBytes + directory.readUInt16LE(at + 32)
    if (end > directory.length) throw brokenZip()
    if (directory.toString('utf8', at + 46, at + 46 + nameBytes) === name) {
      const extra = directory.subarray(at + 46 + nameBytes, at + 46 + nameBytes + extraBytes)
      return readEntry(directory.subarray(at, at + 46), extra, name)
    }
    at = end
  }
  return undefined
}

/** Offset of an entry's bytes: behind its local header, whose lengths differ from those of the directory. */
export async function dataOffset(file: FileHandle, entry: ZipEntry): Promise<number> {
  const header = await readExactly(file, entry.offset, 30)
  if (header.readUInt32LE(0) !== 0x04034b50) throw brokenZip()
  return entry.offset + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)
}

async function locateDirectory(file: FileHandle, size: number): Promise<{ offset: number; bytes: number }> {
  const length = Math.min(size, MOST_END)
  const tail = await readExactly(file, size - length, length)
  for (let at = length - 22; at >= 0; at--) {
    if (tail.readUInt32LE(at) !== END) continue
    const offset = tail.readUInt32LE(at + 16)
    const bytes = tail.readUInt32LE(at + 12)
    if (offset !== 0xffffffff && bytes !== 0xffffffff) return { offset, bytes }
    return locateDirectory64(file, size - length + at - 20)
  }
  throw brokenZip()
}

/** Archives above 4 GiB keep the true numbers in a second end record. */
async function locateDirectory64(
  file: FileHandle,
  locatorAt: number,
): Promise<{ offset: number; bytes: number }> {
  if (locatorAt < 0) throw brokenZip()
  const locator = await readExactly(file, locatorAt, 20)
  if (locator.readUInt32LE(0) !== LOCATOR64) throw brokenZip()
  const end = await readExactly(file, Number(locator.readBigUInt64LE(8)), 56)
  if (end.readUInt32LE(0) !== END64) throw brokenZip()
  return { offset: Number(end.readBigUInt64LE(48)), bytes: Number(end.readBigUInt64LE(40)) }
}

function readEntry(header: Buffer, extra: Buffer, name: string): ZipEntry {
  const large = largeValues(extra)
  const value = (at: number): number => {
    const short = header.readUInt32LE(at)
    return short === 0xffffffff ? (large.shift() ?? short) : short
  }
  // The order of the 64-bit values is that of the fields: size, compressed size, offset.
  const size = value(24)
  const compressedSize = value(20)
  const offset = value(42)
  return {
    name,
    method: header.readUInt16LE(10),
    crc32: header.readUInt32LE(16),
    compressedSize,
    size,
    offset,
  }
}

function largeValues(extra: Buffer): number[] {
  for (let at = 0; at + 4 <= extra.length;) {
    const length = extra.readUInt16LE(at + 2)
    if (extra.readUInt16LE(at) === 1 && at + 4 + length <= extra.length) {
      return Array.from({ length: Math.floor(length / 8) }, (_, index) =>
        Number(extra.readBigUInt64LE(at + 4 + index * 8)),
      )
    }
    at += 4 + length
  }
  return []
}

async function readExactly(file: FileHandle, position: number, length: number): Promise<Buffer> {
  if (!Number.isSafeInteger(position) || position < 0) throw brokenZip()
  const bytes = Buffer.alloc(length)
  const { bytesRead } = await file.read(bytes, 0, length, position)
  if (bytesRead < length) throw brokenZip()
  return bytes
}

export function brokenZip(): ModelyardError {
  return new ModelyardError('model_file_invalid', 'The wheel is no sound ZIP archive.')
}
