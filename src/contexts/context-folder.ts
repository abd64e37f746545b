import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { ContextShelf, ShelvedContext, SlotWriting } from '../pool/context-shelf.ts'
import type { ParkOrder } from '../pool/policy/messages.ts'
import { decodeRecord, encodeRecord, type ContextRecord } from './context-record.ts'

/** Part of the free space that contexts may take, and the most of it in bytes. */
const SHARE = 0.1
const MOST_ROOM = 20 * 1024 ** 3
const BLOCK = 4096
/** Characters by which a record may become longer than it was taken for. */
const LONGER = 16
/** Names of ours; whatever else lies in the folder is left alone. */
const OURS = /^(context-\d+)\.(slot|json)(\.part)?$/

/** A context that was found, with what it takes on disk. */
export interface FoundContext {
  record: ContextRecord
  bytes: number
}

/** What opening a folder found. */
export interface FolderContents {
  contexts: FoundContext[]
  /** Files that could not be used and were deleted. */
  reclaimed: { files: number; bytes: number }
}

/**
 * The folder of parked contexts. Each is two files: what the engine wrote, and its record. The record is the last to get its name, so what has none
 * was not finished (R16): whatever moment the process is killed at, nothing half-written is ever read. Readable by the owner alone.
 */
export class ContextFolder implements ContextShelf {
  readonly #folder: string
  readonly #clock: Clock
  readonly #sizes = new Map<string, number>()
  /** Files that are written and not whole yet. */
  readonly #placing = new Map<string, Promise<void>>()
  readonly #pending = new Set<Promise<unknown>>()
  readonly #removals = new Set<Promise<unknown>>()

  constructor(folder: string, clock: Clock) {
    this.#folder = folder
    this.#clock = clock
  }

  pathOf(context: string): string {
    return join(this.#folder, `${context}.slot`)
  }

  /** Reads what earlier processes parked and deletes what is of no use (BR-54). @throws the file system's error */
  async open(): Promise<FolderContents> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    await chmod(this.#folder, 0o700)
    const names = (await readdir(this.#folder)).filter((name) => OURS.test(name))
    const found = await Promise.all(names.map(async (name) => this.#find(name)))
    const contexts = found.filter((context) => context !== undefined)
    const used = new Set(
      contexts.flatMap(({ record: { context } }) => [`${context}.slot`, `${context}.json`]),
    )
    const reclaimed = { files: 0, bytes: 0 }
    for (const name of names.filter((each) => !used.has(each))) {
      const path = join(this.#folder, name)
      reclaimed.files++
      reclaimed.bytes += await occupied(path)
      await rm(path, { force: true })
    }
    for (const { record, bytes } of contexts) this.#sizes.set(record.context, bytes)
    return { contexts, reclaimed }
  }

  async #find(name: string): Promise<FoundContext | undefined> {
    const id = OURS.exec(name)?.[1]
    if (id === undefined || name !== `${id}.json`) return undefined
    const text = await readFile(join(this.#folder, name), 'utf8').catch(() => '')
    const record = decodeRecord(text)
    const size = await stat(this.pathOf(id))
      .then(({ size: bytes }) => bytes)
      .catch(() => -1)
    if (record === undefined || record.context !== id || record.size !== size) return undefined
    return { record, bytes: (await occupied(this.pathOf(id))) + taken(text.length) }
  }

  async park(order: ParkOrder, write: SlotWriting): Promise<ShelvedContext> {
    // Their bytes were counted as free when this one was ordered.
    await Promise.allSettled(this.#removals)
    const { context } = order
    const part = this.#partOf(context)
    const { sealed } = await written(part, write)
    const { slot: _, ...rest } = order
    const parkedAt = this.#clock.wallTime()
    const textFor = (size: number): string => encodeRecord({ ...rest, size, parkedAt })
    const { size } = await stat(part)
    // What is put behind it when it is sealed is less than a block.
    const seal = sealed === undefined ? 0 : BLOCK
    const bytes = (await occupied(part)) + seal + taken(textFor(size).length + LONGER)
    this.#sizes.set(context, bytes)
    const placed = this.#place(context, sealed)
    this.#placing.set(context, placed)
    // Nobody waits for the disk: until the record has its name, only a restart would miss it.
    const settled = placed.then(async () => this.#commit(context, textFor))
    this.#track(settled, this.#pending)
    return { bytes, placed, settled }
  }

  async #place(context: string, sealed: Promise<void> | undefined): Promise<void> {
    const part = this.#partOf(context)
    try {
      await sealed
      await chmod(part, 0o600)
      await rename(part, this.pathOf(context))
    } catch (error) {
      this.#sizes.delete(context)
      await rm(part, { force: true })
      throw error
    } finally {
      this.#placing.delete(context)
    }
  }

  async placeOf(context: string): Promise<string> {
    await this.#placing.get(context)?.catch(() => undefined)
    return this.pathOf(context)
  }

  async #commit(context: string, textFor: (size: number) => string): Promise<void> {
    // Whoever removed it waited for its name only.
    if (!this.#sizes.has(context)) return
    const path = join(this.#folder, `${context}.json`)
    const { size } = await stat(this.pathOf(context))
    await sync(this.pathOf(context))
    await writeFile(`${path}.part`, textFor(size), { mode: 0o600, flush: true })
    await rename(`${path}.part`, path)
    await sync(this.#folder)
    // It was removed while it was written.
    if (!this.#sizes.has(context)) await this.#delete(context)
  }

  remove(context: string): void {
    this.#sizes.delete(context)
    this.#track(this.#delete(context), this.#removals)
  }

  /** The record first: a file without one is never read. */
  async #delete(context: string): Promise<void> {
    await this.#placing.get(context)?.catch(() => undefined)
    await rm(join(this.#folder, `${context}.json`), { force: true })
    await rm(this.pathOf(context), { force: true })
  }

  async room(): Promise<number> {
    try {
      const { bavail, bsize } = await statfs(this.#folder)
      let used = 0
      for (const bytes of this.#sizes.values()) used += bytes
      return Math.min(MOST_ROOM, Math.floor((bavail * bsize + used) * SHARE))
    } catch {
      return 0
    }
  }

  /** Resolves when all is written that is being written. */
  async close(): Promise<void> {
    while (this.#pending.size + this.#removals.size > 0)
      await Promise.allSettled([...this.#pending, ...this.#removals])
  }

  #track(work: Promise<void>, among: Set<Promise<unknown>>): void {
    const tracked = work.catch(() => undefined).finally(() => among.delete(tracked))
    among.add(tracked)
  }

  #partOf(context: string): string {
    return `${this.pathOf(context)}.part`
  }
}

/** Has a file written that nobody else may read at any moment: it is made by us before the engine opens it. Nothing is left when that fails. */
async function written(part: string, write: SlotWriting): Promise<{ sealed?: Promise<void> }> {
  try {
    await writeFile(part, '', { mode: 0o600 })
    return (await write(part)) ?? {}
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** Bytes that a record takes, with the entries of both files in the folder. */
function taken(recordLength: number): number {
  return Math.ceil(recordLength / BLOCK) * BLOCK + BLOCK
}

/** Bytes a file takes on disk; some file systems tell only later, then its length. */
async function occupied(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return 0
  return Math.max((found.blocks ?? 0) * 512, Math.ceil(found.size / BLOCK) * BLOCK)
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
