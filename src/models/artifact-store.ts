import { rm, rmdir, stat } from 'node:fs/promises'
import { dirname, resolve, sep } from 'node:path'
import { abortError } from '../base/abort.ts'
import { type Clock, keepProcessAlive } from '../base/clock.ts'
import { toModelyardError } from '../base/errors.ts'
import { SharedWork } from '../base/shared-work.ts'
import { ArtifactFetcher } from './artifact-fetcher.ts'
import { ArtifactLocator } from './artifact-locator.ts'
import { CATALOG, type CatalogEntry } from './catalog.ts'
import { findLocalModel } from './discovery/find-local-model.ts'
import { readRecord, recordPath } from './downloads/artifact-record.ts'
import { defined } from './downloads/fetch-file.ts'
import { filesOfFolder, filesOfModel, folderListPath } from './downloads/model-files.ts'
import { HttpClient } from './downloads/http-client.ts'
import type { DownloadProgress } from './downloads/progress-meter.ts'
import { DEFAULT_ENDPOINT, type TransferOptions } from './downloads/transfer.ts'
import { unreadableFile } from './gguf/read-gguf-header.ts'
import { formatSource } from './format-source.ts'
import type { FileFormat } from './model-facts.ts'
import { formatOfSource } from './source-format.ts'
import { type ModelSource, parseSource } from './source.ts'

export interface ArtifactStoreOptions {
  /** `HOME/models`. */
  folder: string
  clock: Clock
  transfer?: TransferOptions
  /** Folder that relative paths in sources are taken from. Default the working directory. */
  directory?: string
  /** Default: ours. */
  catalog?: Readonly<Record<string, CatalogEntry>>
}

export interface EnsureOptions {
  signal?: AbortSignal
  onProgress?: (progress: DownloadProgress) => void
  /** Told the bytes of what must be fetched before the first one is kept; what it throws ends the fetch. Those who give one share a fetch. */
  admit?: (bytes: number) => void | Promise<void>
  /** Told what files must be fetched, undefined where that does not show, before the first byte is kept; what it throws ends the fetch. */
  admitFormat?: (format: FileFormat | undefined) => void | Promise<void>
  /** Compute the sum of files that are there, and fetch anew what is corrupt (F28). */
  verify?: boolean
  /** Ask the hub whether it has a newer file, instead of taking what is there. */
  refresh?: boolean
}

interface RemoteOptions {
  signal: AbortSignal
  verify: boolean
  refresh: boolean
  admit: EnsureOptions['admit']
  admitFormat: EnsureOptions['admitFormat']
}

/** Files of models: found where they lie, or fetched once for all who ask. */
export class ArtifactStore {
  readonly folder: string
  readonly catalog: Readonly<Record<string, CatalogEntry>>
  readonly #clock: Clock
  readonly #transfer: TransferOptions
  readonly #directory: string | undefined
  readonly #locator: ArtifactLocator
  readonly #work = new SharedWork<string>()
  readonly #listeners = new Map<string, Set<(progress: DownloadProgress) => void>>()

  constructor({ folder, clock, transfer = {}, directory, catalog = CATALOG }: ArtifactStoreOptions) {
    this.folder = folder
    this.catalog = catalog
    this.#clock = clock
    this.#transfer = transfer
    this.#directory = directory
    this.#locator = new ArtifactLocator(folder, clock, catalog)
  }

  /**
   * The path of a source's file, fetched first when it is remote and not there. Callers who ask for the same join one fetch; it is
   * given up when the last of them has left.
   * @throws ModelyardError `config_invalid`, `model_not_found`, `download_failed`, `checksum_mismatch`, `disk_full`, `aborted`; what
   *   `admit` throws
   */
  async ensure(text: string, options: EnsureOptions = {}): Promise<string> {
    const { signal, onProgress, verify = false, refresh = false, admit, admitFormat } = options
    const source = parseSource(text, this.#directory)
    if (source.kind === 'file') return findLocalModel(source.path)
    const key = `${formatSource(source)} ${verify} ${refresh} ${admit !== undefined} ${admitFormat !== undefined}`
    const stopListening = this.#listen(key, onProgress)
    try {
      return await this.#work.join(key, signal, async (workSignal) =>
        this.#ensureRemote(source, key, { signal: workSignal, verify, refresh, admit, admitFormat }),
      )
    } finally {
      stopListening()
    }
  }

  /** Where a source's file lies, without asking anybody or reading the file; undefined when it must be fetched or is gone. */
  async locate(text: string): Promise<string | undefined> {
    const source = parseSource(text, this.#directory)
    if (source.kind === 'file') return findLocalModel(source.path).catch(() => undefined)
    return this.#locator.locate(source, { signal: new AbortController().signal, check: 'never' })
  }

  /**
   * What files a source has where they are still to be fetched: as it says itself, else as its hub lists them, of which nothing is kept. Undefined for files that
   * are here, and where it does not show. @throws ModelyardError as {@link ensure}
   */
  async formatOf(text: string, signal?: AbortSignal): Promise<FileFormat | undefined> {
    const known = formatOfSource(parseSource(text, this.#directory), this.catalog)
    if (known !== undefined) return known
    let told: { format: FileFormat | undefined } | undefined
    const admitFormat = (format: FileFormat | undefined): never => {
      told = { format }
      throw new Error('That is all that was asked.')
    }
    await this.ensure(text, { admitFormat, ...defined({ signal }) }).catch((error: unknown) => {
      if (told === undefined) throw error
    })
    return told?.format
  }

  /** @throws ModelyardError `model_not_found`, `config_invalid` for a source on this machine that cannot be opened; others are fetched when they are asked for */
  async requireLocal(text: string): Promise<void> {
    const source = parseSource(text, this.#directory)
    if (source.kind !== 'file') return
    const path = await findLocalModel(source.path)
    // Of a split model the first file is opened, whichever was named.
    await stat(path).catch((cause: unknown) => {
      throw unreadableFile(path, cause)
    })
  }

  /** Whether a file lies in the models folder with a record of having been fetched: only such files are ever deleted. */
  async owns(path: string): Promise<boolean> {
    const isFetched = ((await readRecord(path)) ?? (await filesOfFolder(path))) !== undefined
    return isFetched && resolve(path).startsWith(resolve(this.folder) + sep)
  }

  /** Bytes of a fetched model with all its files. */
  async sizeOf(path: string): Promise<number> {
    const sizes = (await filesOfModel(path)).map(fileSize)
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  }

  /** Removes a fetched model with its shards, records and rests. An interrupted removal leaves only whole files. @returns bytes freed */
  async remove(path: string): Promise<number> {
    const files = await filesOfModel(path)
    const freed = await this.sizeOf(path)
    // The list of a folder, or the first shard, goes first: what an interruption leaves is then no model any more.
    await rm(folderListPath(path), { force: true }).catch(() => undefined)
    for (const file of files) await rm(file, { force: true })
    const rests = files.flatMap((file) => [recordPath(file), `${file}.part`, `${file}.part.json`])
    for (const rest of rests) await rm(rest, { force: true })
    await this.#removeEmptyFolders(files)
    return freed
  }

  /** Folders that nothing is in any more go as well, up to the models folder. */
  async #removeEmptyFolders(files: readonly string[]): Promise<void> {
    const root = resolve(this.folder)
    for (const file of files) {
      let folder = dirname(resolve(file))
      while (folder.startsWith(root + sep) && (await removedWhenEmpty(folder))) folder = dirname(folder)
    }
  }

  #listen(key: string, listener: EnsureOptions['onProgress']): () => void {
    if (listener === undefined) return () => undefined
    const listeners = this.#listeners.get(key) ?? new Set()
    this.#listeners.set(key, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(key)
    }
  }

  async #ensureRemote(source: ModelSource, key: string, options: RemoteOptions): Promise<string> {
    const { signal, verify, refresh, admit, admitFormat } = options
    const report = (progress: DownloadProgress): void => {
      for (const listener of this.#listeners.get(key) ?? []) listener(progress)
    }
    const there = refresh
      ? undefined
      : await this.#locator.locate(source, { signal, check: verify ? 'always' : 'touched', report })
    if (there !== undefined) return there
    const http = this.#httpClient()
    // Waiting for a lock or for another try holds no handle: a command would end in the middle, without a word.
    const alive = keepProcessAlive()
    const { folder, catalog } = this
    try {
      const fetcher = new ArtifactFetcher({ catalog, locator: this.#locator, http, report })
      const context = {
        clock: this.#clock,
        folder,
        options: this.#transfer,
        signal,
        source: formatSource(source),
        verify,
        ...defined({ admit, admitFormat }),
      }
      return await fetcher.fetch(source, context)
    } catch (error) {
      throw signal.aborted ? abortError(signal) : toModelyardError(error, 'download_failed')
    } finally {
      alive.cancel()
      await http.close()
    }
  }

  #httpClient(): HttpClient {
    const { endpoint = DEFAULT_ENDPOINT, token, proxy, connectTimeout, stallTimeout } = this.#transfer
    return new HttpClient(
      { tokenOrigin: new URL(endpoint).origin, ...defined({ token, proxy, connectTimeout, stallTimeout }) },
      this.#clock,
    )
  }
}

async function removedWhenEmpty(folder: string): Promise<boolean> {
  return rmdir(folder).then(
    () => true,
    () => false,
  )
}

async function fileSize(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}
