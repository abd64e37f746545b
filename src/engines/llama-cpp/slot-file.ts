import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { appendFile, open, stat } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

/*
 * A parked context is the engine's state file with a trailer of ours. The engine checks little: the state of another model of the same
 * shape would be read and give nonsense, and a damaged one may end the process. So the trailer names whose it is and sums up the bytes.
 */

const MAGIC = Buffer.from('modelyard-slot-1')
const TRAILER = MAGIC.length + 32 + 8 + 4

/** Closes a file that the engine has written. @returns its size */
export async function sealSlotFile(path: string, identity: string): Promise<number> {
  const { size } = await stat(path)
  await appendFile(path, trailer(identity, size, await checksum(path, size)))
  return size + TRAILER
}

/** Whether the file is whole, unchanged, and of this identity. */
export async function isSealedFor(path: string, identity: string): Promise<boolean> {
  try {
    const { size } = await stat(path)
    const body = size - TRAILER
    if (body <= 0) return false
    const found = await bytesAt(path, body, TRAILER)
    // The cheap part first: most foreign files are told without reading them.
    if (!found.subarray(0, TRAILER - 4).equals(trailer(identity, body, 0).subarray(0, TRAILER - 4)))
      return false
    return found.equals(trailer(identity, body, await checksum(path, body)))
  } catch {
    return false
  }
}

function trailer(identity: string, size: number, sum: number): Buffer {
  const numbers = Buffer.alloc(12)
  numbers.writeBigUInt64LE(BigInt(size), 0)
  numbers.writeUInt32LE(sum, 8)
  return Buffer.concat([MAGIC, createHash('sha256').update(identity).digest(), numbers])
}

async function checksum(path: string, size: number): Promise<number> {
  let sum = 0
  if (size === 0) return sum
  for await (const chunk of createReadStream(path, { end: size - 1, highWaterMark: 1024 ** 2 })) {
    sum = crc32(chunk as Buffer, sum)
  }
  return sum
}

async function bytesAt(path: string, position: number, length: number): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, position)
    return buffer
  } finally {
    await file.close()
  }
}
