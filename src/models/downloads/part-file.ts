import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ByteRange } from './byte-range.ts'
import { occupiedBytes, writeError } from './disk-space.ts'
import { writeJsonFile } from './write-json-file.ts'

/** What is known of a file that is being fetched. `size` null: the server does not say. */
export interface PartState {
  url: string
  size: number | null
  /** Strong ETag or modification date of the remote file, for `If-Range`. */
  validator?: string
  /** Promised sum, hex. */
  sha256?: string
  ranges: ByteRange[]
}

/** Bytes that the state's file takes on disk from the beginning. */
const STATE_BLOCK = 4096

/**
 * A file on its way, `NAME.part`, and beside it `NAME.part.json`, which says which bytes are there: both stay after an abort or a
 * crash, and the next try goes on from them.
 */
export class PartFile {
  readonly path: string
  readonly state: PartState
  /** Bytes that were there when it was opened. */
  readonly resumed: number
  readonly #file: FileHandle
  #closed = false
  #saving: Promise<void> = Promise.resolve()

  private constructor(path: string, state: PartState, file: FileHandle) {
    this.path = path
    this.state = state
    this.resumed = receivedBytes(state.ranges)
    this.#file = file
  }

  /** Opens what is there of `target` if it is of the same remote file, else begins anew with the ranges of `state`. */
  static async open(target: string, state: PartState): Promise<PartFile> {
    const path = partPath(target)
    const known = await readPartState(target)
    try {
      if (known !== undefined && isSameFile(known, state)) {
        const file = await openExisting(path)
        if (file !== undefined) return new PartFile(path, { ...state, ranges: known.ranges }, file)
      }
      await discardPart(target)
      const part = new PartFile(path, state, await open(path, 'wx+'))
      // Now, while there is space: on a disk that fills up it can then be overwritten in place.
      await part.save().catch(() => undefined)
      return part
    } catch (error) {
      throw await writeError(dirname(path), error, state.size ?? 0)
    }
  }

  get received(): number {
    return receivedBytes(this.state.ranges)
  }

  /** Writes all of `chunk` at `position`. @throws disk_full */
  async write(chunk: Uint8Array, position: number): Promise<void> {
    try {
      for (let written = 0; written < chunk.length;) {
        const { bytesWritten } = await this.#file.write(
          chunk,
          written,
          chunk.length - written,
          position + written,
        )
        written += bytesWritten
      }
    } catch (error) {
      throw await writeError(dirname(this.path), error, await this.bytesToCome())
    }
  }

  /** Bytes the disk must still take. A part with holes occupies less than its length. */
  async bytesToCome(): Promise<number> {
    return Math.max(0, (this.state.size ?? 0) - (await occupiedBytes(this.path)))
  }

  /** Makes the state on disk true, one save after the other. */
  async save(): Promise<void> {
    const saving = this.#saving.then(async () => this.#save())
    this.#saving = saving.catch(() => undefined)
    return saving
  }

  /** Without a sum to check at the end, the bytes must be down before the state says so. */
  async #save(): Promise<void> {
    if (this.#closed) return
    if (this.state.sha256 === undefined) await this.#file.datasync()
    await writeJsonFile(`${this.path}.json`, this.state, { block: STATE_BLOCK })
  }

  /** Saves what is there for a later try. Never throws: a disk that is full must not hide why we stopped. */
  async suspend(): Promise<void> {
    await this.save().catch(() => undefined)
    await this.#close()
  }

  /** Cuts off what an earlier, longer try left behind. */
  async truncate(bytes: number): Promise<void> {
    await this.#file.truncate(bytes)
  }

  /** All bytes are on disk. */
  async sync(): Promise<void> {
    await this.#file.sync()
  }

  async #close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#saving
    await this.#file.close()
  }

  /** The file appears under its own name, replacing what was there in one step. */
  async publish(target: string): Promise<void> {
    await this.#close()
    await rename(this.path, target)
    await rm(`${this.path}.json`, { force: true })
  }

  /** Throws away what was fetched. */
  async discard(): Promise<void> {
    await this.#close()
    await rm(this.path, { force: true })
    await rm(`${this.path}.json`, { force: true })
  }
}

async function openExisting(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r+')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export function partPath(target: string): string {
  return `${target}.part`
}

/** State of a part; undefined when there is none that can be used. */
export async function readPartState(target: string): Promise<PartState | undefined> {
  try {
    const state = JSON.parse(await readFile(`${partPath(target)}.json`, 'utf8')) as Partial<PartState> | null
    return isState(state) ? state : undefined
  } catch {
    return undefined
  }
}

function isState(state: Partial<PartState> | null): state is PartState {
  return typeof state?.url === 'string' && Array.isArray(state.ranges) && state.ranges.every(isRange)
}

function isRange(range: Partial<ByteRange> | null): boolean {
  const { start, end, done } = range ?? {}
  return (
    [start, end, done].every(Number.isSafeInteger) &&
    (done ?? -1) >= 0 &&
    (start ?? 0) + (done ?? 0) <= (end ?? -1)
  )
}

/** The same bytes: the same promised sum, or the same address and validator. Without either nothing can be continued. */
function isSameFile(known: PartState, now: PartState): boolean {
  if (known.size === null || known.size !== now.size) return false
  if (known.sha256 !== undefined && now.sha256 !== undefined) return known.sha256 === now.sha256
  return known.url === now.url && known.validator !== undefined && known.validator === now.validator
}

export async function discardPart(target: string): Promise<void> {
  await rm(partPath(target), { force: true })
  await rm(`${partPath(target)}.json`, { force: true })
}

export function receivedBytes(ranges: readonly ByteRange[]): number {
  return ranges.reduce((sum, { done }) => sum + done, 0)
}
