import { basename } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { catalogFolder, hubFolder, urlPath, wheelPath } from './artifact-paths.ts'
import { type CatalogEntry, catalogEntry, type CatalogSource } from './catalog.ts'
import { findHubModel } from './downloads/fetch-hub-model.ts'
import { filesOfFolder, filesOfModel } from './downloads/model-files.ts'
import { type DownloadProgress, ProgressMeter } from './downloads/progress-meter.ts'
import { isSoundFile, type SumCheck } from './downloads/sound-file.ts'
import { formatSource } from './format-source.ts'
import { type ModelSource, parseSource } from './source.ts'

export interface LocateOptions {
  signal: AbortSignal
  check: SumCheck
  report?: (progress: DownloadProgress) => void
}

/** Finds fetched files where they lie, without asking anybody. */
export class ArtifactLocator {
  readonly #folder: string
  readonly #clock: Clock
  readonly #catalog: Readonly<Record<string, CatalogEntry>>

  constructor(folder: string, clock: Clock, catalog: Readonly<Record<string, CatalogEntry>>) {
    this.#folder = folder
    this.#clock = clock
    this.#catalog = catalog
  }

  /** The file of a remote source if it is there with all its shards, whole and right. */
  async locate(source: ModelSource, options: LocateOptions): Promise<string | undefined> {
    if (source.kind === 'catalog') return this.#locateEntry(source.name, options)
    return this.#soundModel(await this.pathOf(source), options)
  }

  async #soundModel(path: string | undefined, options: LocateOptions): Promise<string | undefined> {
    if (path === undefined) return undefined
    const { signal, check, report = () => undefined } = options
    for (const file of await filesOfModel(path)) {
      const meter = new ProgressMeter(basename(file), this.#clock, report)
      if (!(await isSoundFile(file, { check }, signal, meter))) return undefined
    }
    return path
  }

  /** Where the file of a source lies or would lie; undefined when only the hub can tell. */
  async pathOf(source: ModelSource): Promise<string | undefined> {
    switch (source.kind) {
      case 'url':
        return urlPath(this.#folder, source.url)
      case 'wheel':
        return wheelPath(this.#folder, source)
      case 'hub':
        return findHubModel(source, this.#folder, formatSource(source))
      default:
        return undefined
    }
  }

  /** The same for a place of the catalog; a folder that is not whole is none. */
  async pathOfPlace(name: string, place: CatalogSource): Promise<string | undefined> {
    if (place.folder === undefined) return this.pathOf(parseSource(place.source))
    const folder = folderOfPlace(this.#folder, name, place)
    return (await filesOfFolder(folder)) === undefined ? undefined : folder
  }

  async #locateEntry(name: string, options: LocateOptions): Promise<string | undefined> {
    for (const place of catalogEntry(this.#catalog, name).sources) {
      const path = await this.#soundModel(await this.pathOfPlace(name, place), options)
      if (path !== undefined) return path
    }
    return undefined
  }
}

/** Where the folder of a place of the catalog is: that of the repository, or one of our own. */
export function folderOfPlace(models: string, name: string, { source: text, folder }: CatalogSource): string {
  const source = parseSource(text)
  return source.kind === 'hub' ? hubFolder(models, source) : catalogFolder(models, name, folder)
}
