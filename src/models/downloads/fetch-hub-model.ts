import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { hubFolder, safetensorsFolder } from '../artifact-paths.ts'
import type { HubSource } from '../hub-source.ts'
import { formatOfName } from '../source-format.ts'
import { readRecord, recordPath } from './artifact-record.ts'
import { defined } from './fetch-file.ts'
import { fetchHubFile, placeInFolder, requireSpaceForAll, sizeOfAll } from './fetch-hub-file.ts'
import { fetchHubFolder } from './fetch-hub-folder.ts'
import { HubClient } from './hub-client.ts'
import type { HttpClient } from './http-client.ts'
import { readFolderList } from './model-files.ts'
import { pickHubFiles } from './pick-hub-files.ts'
import { meansFolder } from './pick-hub-folder.ts'
import { ProgressMeter, type DownloadProgress } from './progress-meter.ts'
import { DEFAULT_ENDPOINT, type TransferContext } from './transfer.ts'

/** Fetches the files of a model on the hub. @returns path of what is opened: the file, the first shard of a split model, or the folder */
export async function fetchHubModel(
  source: HubSource,
  { admit, admitFormat, ...context }: TransferContext,
  http: HttpClient,
  report: (progress: DownloadProgress) => void,
): Promise<string> {
  const { clock, options, signal, answerWithin } = context
  const endpoint = (options.endpoint ?? DEFAULT_ENDPOINT).replace(/\/+$/, '')
  const retry = { clock, ...defined({ attempts: options.attempts, firstDelay: options.firstDelay }) }
  const hub = new HubClient(endpoint, http, retry)
  const { repository, revision } = source
  const { commit, files } = await hub.list({ repository, revision, signal, ...defined({ answerWithin }) })
  if (meansFolder(source, files)) {
    const listing = { commit, files }
    await admitFormat?.('safetensors')
    return await fetchHubFolder({
      source,
      listing,
      hub,
      http,
      report,
      context: { ...context, ...defined({ admit }) },
    })
  }
  const [first, ...others] = pickHubFiles(source, files)
  const folder = hubFolder(context.folder, source)
  await admitFormat?.(formatOfName(first.path))
  await admit?.(sizeOfAll([first, ...others]))
  if (others.length > 0) await requireSpaceForAll(folder, [first, ...others])
  // The first shard comes last: only when it is there is the model there.
  for (const file of [...others, first]) {
    const shards = file === first && others.length > 0 ? others.map(({ path }) => basename(path)) : undefined
    const url = hub.fileUrl(repository, commit, file.path)
    const meter = new ProgressMeter(basename(file.path), clock, report, file.sha256)
    await fetchHubFile({ file, url, folder, commit, shards }, context, http, meter)
  }
  return placeInFolder(folder, first.path)
}

/** The file or folder that `source` led to before, found in the records without asking the hub; undefined when it must be asked. */
export async function findHubModel(
  source: HubSource,
  models: string,
  text: string,
): Promise<string | undefined> {
  const whole = safetensorsFolder(models, source)
  if (source.format !== undefined) return whole
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
  return (await readFolderList(whole))?.sources?.includes(text) === true ? whole : undefined
}
