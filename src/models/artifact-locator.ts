import { basename } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { urlPath, wheelPath } from './artifact-paths.ts'
import { type CatalogEntry, catalogEntry } from './catalog.ts'
import { filesOfModel, findHubModel } from './downloads/fetch-hub-model.ts'
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
    const path = await this.pathOf(source)
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

  async #locateEntry(name: string, options: LocateOptions): Promise<string | undefined> {
    for (const { source } of catalogEntry(this.#catalog, name).sources) {
      const path = await this.locate(parseSource(source), options)
      if (path !== undefined) return path
    }
    return undefined
  }
}
