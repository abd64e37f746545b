import { createHash } from 'node:crypto'
import { appendFile, open, stat } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

/*
 * A parked context is the engine's state file with a trailer of ours. The engine checks little: the state of another model of the same
 * shape would be read and give nonsense, and a damaged one may end the process. So the trailer names whose it is and sums up the bytes.
 */

const MAGIC = Buffer.from('modelyard-slot-1')
const TRAILER = MAGIC.length + 32 + 8 + 4
/** Bytes that are read at once for a sum. */
const PIECE = 1024 ** 2

/** Closes a file that the engine has written. @returns its size */
export async function sealSlotFile(path: string, identity: string): Promise<number> {
  const { size } = await stat(path)
  await appendFile(path, trailer(identity, size, await checksum(path, size)))
  return size + TRAILER
}

/** Bytes that a file will have when it is sealed. */
export async function sealedSize(path: string): Promise<number> {
  return (await stat(path)).size + TRAILER
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

/** One piece is summed up while the next is read. @throws the file system's error; a file that is shorter has another sum */
async function checksum(path: string, size: number): Promise<number> {
  if (size === 0) return 0
  const file = await open(path, 'r')
  try {
    const pieces = [Buffer.allocUnsafe(PIECE), Buffer.allocUnsafe(PIECE)] as const
    const read = async (turn: number, from: number): Promise<Buffer> => {
      const piece = pieces[turn % 2 === 0 ? 0 : 1]
      const { bytesRead } = await file.read(piece, 0, Math.min(PIECE, size - from), from)
      return piece.subarray(0, bytesRead)
    }
    let [sum, done] = [0, 0]
    let next = read(0, 0)
    for (let turn = 1; done < size; turn++) {
      const piece = await next
      if (piece.length === 0) return sum
      done += piece.length
      if (done < size) next = read(turn, done)
      sum = crc32(piece, sum)
    }
    return sum
  } finally {
    await file.close()
  }
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
