import { join } from 'node:path'
import { addSource } from './artifact-record.ts'
import { occupiedBytes, requireDiskSpace } from './disk-space.ts'
import { makeFolder } from './download-file.ts'
import { defined, ensureFile, fetchByHttp } from './fetch-file.ts'
import type { HubFile } from './hub-client.ts'
import type { HttpClient } from './http-client.ts'
import { partPath } from './part-file.ts'
import type { ProgressMeter } from './progress-meter.ts'
import type { TransferContext } from './transfer.ts'

export interface WantedHubFile {
  file: HubFile
  /** Where it is fetched from. */
  url: URL
  folder: string
  commit: string
  /** Names of the other files of its model, kept in its record. */
  shards?: string[] | undefined
}

/** Where a file of a repository is put. */
export function placeInFolder(folder: string, path: string): string {
  return join(folder, ...path.split('/'))
}

/** Bytes of all of them. */
export function sizeOfAll(files: readonly HubFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0)
}

/** Makes sure that a file of the hub is in its folder, whole and right. */
export async function fetchHubFile(
  { file, url, folder, commit, shards }: WantedHubFile,
  context: TransferContext,
  http: HttpClient,
  meter: ProgressMeter,
): Promise<void> {
  const { size, sha256 } = file
  const target = placeInFolder(folder, file.path)
  const wanted = { target, size, ...defined({ sha256 }) }
  const facts = { commit, ...defined({ shards }) }
  await ensureFile(wanted, context, meter, async () =>
    fetchByHttp({ ...wanted, url, facts }, context, meter, http),
  )
  await addSource(target, context.source)
}

/** Before the first of several files, so that it does not show after hours that the last has no place. @throws disk_full */
export async function requireSpaceForAll(folder: string, files: readonly HubFile[]): Promise<void> {
  const missing = files.map(async ({ path, size }) => {
    const target = placeInFolder(folder, path)
    return size - (await occupiedBytes(target)) - (await occupiedBytes(partPath(target)))
  })
  const need = (await Promise.all(missing)).reduce((sum, bytes) => sum + Math.max(0, bytes), 0)
  await makeFolder(folder)
  await requireDiskSpace(folder, need)
}
