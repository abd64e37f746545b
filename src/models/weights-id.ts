import { createHash } from 'node:crypto'
import { open, stat } from 'node:fs/promises'
import { knownDigest } from './downloads/artifact-record.ts'

/** Pieces of a file that are read, spread evenly; the first covers the header of most models. */
const SAMPLES = 64
const SAMPLE_BYTES = 16 * 1024

/**
 * Identity of the content of files wherever they lie: the same after the folder was moved or the machine restarted, another one when a file
 * was replaced under its name. The sum where it is known, else size, time of the last change and samples of the bytes: to read tens
 * of gigabytes before each load would cost more than what is kept under this identity.
 */
export async function weightsId(paths: readonly string[]): Promise<string> {
  const parts = await Promise.all(paths.map(async (path) => identityOf(path)))
  return createHash('sha256').update(parts.join('\n')).digest('hex')
}

async function identityOf(path: string): Promise<string> {
  const stats = await stat(path)
  const digest = await knownDigest(path, stats)
  return digest ?? `${stats.size}:${stats.mtimeMs}:${await sampleDigest(path, stats.size)}`
}

async function sampleDigest(path: string, size: number): Promise<string> {
  const sum = createHash('sha256')
  const step = Math.max(SAMPLE_BYTES, Math.floor(size / SAMPLES))
  const file = await open(path, 'r')
  try {
    const piece = Buffer.alloc(SAMPLE_BYTES)
    for (let position = 0; position < size; position += step) {
      const { bytesRead } = await file.read(piece, 0, SAMPLE_BYTES, position)
      sum.update(piece.subarray(0, bytesRead))
    }
  } finally {
    await file.close()
  }
  return sum.digest('hex')
}
