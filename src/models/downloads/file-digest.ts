import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { abortError } from '../../base/abort.ts'

/** SHA-256 of a file, hex. `onProgress` gets the bytes read so far. @throws aborted */
export async function fileDigest(
  path: string,
  signal: AbortSignal,
  onProgress?: (bytes: number) => void,
): Promise<string> {
  const hash = createHash('sha256')
  let read = 0
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024, signal })) {
      hash.update(chunk as Buffer)
      read += (chunk as Buffer).length
      onProgress?.(read)
    }
  } catch (error) {
    throw signal.aborted ? abortError(signal) : error
  }
  return hash.digest('hex')
}
