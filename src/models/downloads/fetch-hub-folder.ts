import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { safetensorsFolder } from '../artifact-paths.ts'
import type { HubSource } from '../hub-source.ts'
import { readRecord } from './artifact-record.ts'
import { ensureFolder } from './ensure-folder.ts'
import { defined } from './fetch-file.ts'
import { fetchHubFile, placeInFolder, requireSpaceForAll, sizeOfAll } from './fetch-hub-file.ts'
import { FolderProgress } from './folder-progress.ts'
import type { HubClient, HubFile, HubListing } from './hub-client.ts'
import type { HttpClient } from './http-client.ts'
import { addFolderSource, FOLDER_LIST, type FolderList } from './model-files.ts'
import { partPath } from './part-file.ts'
import { describingFiles, pickHubFolder, type FolderDescription } from './pick-hub-folder.ts'
import { type DownloadProgress, ProgressMeter } from './progress-meter.ts'
import type { TransferContext } from './transfer.ts'

/** What a repository's folder is fetched with. */
export interface HubFolderFetch {
  source: HubSource
  listing: HubListing
  hub: HubClient
  http: HttpClient
  context: TransferContext
  report: (progress: DownloadProgress) => void
}

/**
 * Fetches a repository's model in safetensors: all of its files from one commit, or none is listed. Files that are there whole are not fetched again.
 * @returns the folder
 */
export async function fetchHubFolder(fetch: HubFolderFetch): Promise<string> {
  const { source, listing, report } = fetch
  const { admit, ...context } = fetch.context
  const { commit } = listing
  const files = pickHubFolder(source, listing.files, await describe(fetch))
  await admit?.(sizeOfAll(files))
  const folder = safetensorsFolder(context.folder, source)
  const names = files.map(({ path }) => path)
  const isCurrent = (list: FolderList): boolean => list.commit === commit
  const meter = new ProgressMeter(source.repository, context.clock, report)
  await ensureFolder({ folder, isCurrent }, context, meter, async () => {
    await requireSpaceForAll(folder, files)
    await fetchFiles({ ...fetch, context }, folder, files)
    await removeOthers(folder, names)
    return { files: names, commit, sources: [context.source] }
  })
  await addFolderSource(folder, context.source)
  return folder
}

/** Reads what tells which files are the model, before one of them is kept. */
async function describe({ source, listing, hub, context }: HubFolderFetch): Promise<FolderDescription> {
  const { configuration, index } = describingFiles(listing.files)
  const { signal, answerWithin } = context
  const read = async (file: HubFile | undefined): Promise<unknown> => {
    const about = { repository: source.repository, signal, ...defined({ answerWithin }) }
    return file === undefined ? undefined : await hub.readJson(about, listing.commit, file.path)
  }
  return { configuration: await read(configuration), index: await read(index) }
}

async function fetchFiles(
  { source, listing: { commit }, hub, http, context, report }: HubFolderFetch,
  folder: string,
  files: readonly HubFile[],
): Promise<void> {
  const progress = new FolderProgress(source.repository, sizeOfAll(files), context.clock, report)
  for (const file of files) {
    await removeStale(folder, file, commit)
    const url = hub.fileUrl(source.repository, commit, file.path)
    await progress.count(file.size, async (meter) =>
      fetchHubFile({ file, url, folder, commit }, context, http, meter),
    )
  }
}

/** A small file has no promised sum: one of another commit may have the same size and other words. */
async function removeStale(folder: string, { path, sha256 }: HubFile, commit: string): Promise<void> {
  const target = placeInFolder(folder, path)
  const record = sha256 === undefined ? await readRecord(target) : undefined
  if (record !== undefined && record.commit !== commit) await rm(target, { force: true })
}

/** What another commit had: an engine takes all weights that lie there. Files that were not fetched stay. */
async function removeOthers(folder: string, names: readonly string[]): Promise<void> {
  for (const note of await readdir(folder)) {
    // Our own note beside a file, or a part of one, says that it is ours.
    const [, file, kind] = /^(.+)(\.modelyard|\.part)\.json$/.exec(note) ?? []
    if (file === undefined || note === FOLDER_LIST || names.includes(file)) continue
    await rm(join(folder, kind === '.part' ? partPath(file) : file), { force: true })
    await rm(join(folder, note), { force: true })
  }
}
