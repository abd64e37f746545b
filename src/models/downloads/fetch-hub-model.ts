import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { hubFolder } from '../artifact-paths.ts'
import type { HubSource } from '../hub-source.ts'
import { addSource, readRecord, recordPath } from './artifact-record.ts'
import { occupiedBytes, requireDiskSpace } from './disk-space.ts'
import { makeFolder } from './download-file.ts'
import { defined, ensureFile, fetchByHttp } from './fetch-file.ts'
import { HubClient, type HubFile } from './hub-client.ts'
import type { HttpClient } from './http-client.ts'
import { partPath } from './part-file.ts'
import { pickHubFiles } from './pick-hub-files.ts'
import { ProgressMeter, type DownloadProgress } from './progress-meter.ts'
import { DEFAULT_ENDPOINT, type TransferContext } from './transfer.ts'

/** Fetches the files of a model on the hub. @returns path of the file to open, the first shard of a split model */
export async function fetchHubModel(
  source: HubSource,
  { admit, ...context }: TransferContext,
  http: HttpClient,
  report: (progress: DownloadProgress) => void,
): Promise<string> {
  const { clock, options, signal, answerWithin } = context
  const endpoint = (options.endpoint ?? DEFAULT_ENDPOINT).replace(/\/+$/, '')
  const retry = { clock, ...defined({ attempts: options.attempts, firstDelay: options.firstDelay }) }
  const hub = new HubClient(endpoint, http, retry)
  const { repository, revision } = source
  const { commit, files } = await hub.list({ repository, revision, signal, ...defined({ answerWithin }) })
  const [first, ...others] = pickHubFiles(source, files)
  const folder = hubFolder(context.folder, source)
  await admit?.([first, ...others].reduce((sum, { size }) => sum + size, 0))
  if (others.length > 0) await requireSpaceForAll(folder, [first, ...others])
  // The first shard comes last: only when it is there is the model there.
  for (const file of [...others, first]) {
    const shards = file === first && others.length > 0 ? others.map(({ path }) => basename(path)) : undefined
    await fetchHubFile(
      { file, folder, commit, shards },
      hub.fileUrl(repository, commit, file.path),
      context,
      http,
      report,
    )
  }
  return join(folder, ...first.path.split('/'))
}

/** Before the first of several files, so that it does not show after hours that the last has no place. */
async function requireSpaceForAll(folder: string, files: readonly HubFile[]): Promise<void> {
  const missing = files.map(async ({ path, size }) => {
    const target = join(folder, ...path.split('/'))
    return size - (await occupiedBytes(target)) - (await occupiedBytes(partPath(target)))
  })
  const need = (await Promise.all(missing)).reduce((sum, bytes) => sum + Math.max(0, bytes), 0)
  await makeFolder(folder)
  await requireDiskSpace(folder, need)
}

interface WantedHubFile {
  file: HubFile
  folder: string
  commit: string
  shards: string[] | undefined
}

async function fetchHubFile(
  { file, folder, commit, shards }: WantedHubFile,
  url: URL,
  context: TransferContext,
  http: HttpClient,
  report: (progress: DownloadProgress) => void,
): Promise<void> {
  const { size, sha256 } = file
  const target = join(folder, ...file.path.split('/'))
  const meter = new ProgressMeter(basename(target), context.clock, report, sha256)
  const wanted = { target, size, ...defined({ sha256 }) }
  const facts = { commit, ...defined({ shards }) }
  await ensureFile(wanted, context, meter, async () =>
    fetchByHttp({ ...wanted, url, facts }, context, meter, http),
  )
  await addSource(target, context.source)
}

/** The file that `source` led to before, found in the records without asking the hub; undefined when it must be asked. */
export async function findHubModel(
  source: HubSource,
  models: string,
  text: string,
): Promise<string | undefined> {
  const folder = hubFolder(models, source)
  if (source.file !== undefined) return join(folder, ...source.file.split('/'))
  const names = await readdir(folder, { recursive: true }).catch(() => [] as string[])
  const suffix = recordPath('')
  for (const name of names.filter((candidate) => candidate.endsWith(suffix))) {
    const file = join(folder, name.slice(0, -suffix.length))
    const record = await readRecord(file)
    const isLaterShard = /-(?!00001)\d{5}-of-\d{5}\.gguf$/i.test(file)
    if (record?.sources.includes(text) === true && !isLaterShard) return file
  }
  return undefined
}
