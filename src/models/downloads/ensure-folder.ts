import { rm } from 'node:fs/promises'
import { ensureFile } from './fetch-file.ts'
import { type FolderList, folderListPath, readFolderList, writeFolderList } from './model-files.ts'
import type { ProgressMeter } from './progress-meter.ts'
import { isSoundFile } from './sound-file.ts'
import type { TransferContext } from './transfer.ts'

export interface WantedFolder {
  folder: string
  /** Whether the list that is there is of what is wanted. Default: it is. */
  isCurrent?: (list: FolderList) => boolean
}

/**
 * Makes sure that a folder is there with all its files. `fetch` is called where one is missing or wrong, with the folder's lock held, and gives the list of
 * them, which is written last: a folder without it is not whole. Others who want it wait.
 */
export async function ensureFolder(
  wanted: WantedFolder,
  context: TransferContext,
  meter: ProgressMeter,
  fetch: () => Promise<FolderList>,
): Promise<void> {
  const { folder } = wanted
  if (!(await isWhole(wanted, context, meter))) await rm(folderListPath(folder), { force: true })
  await ensureFile({ target: folderListPath(folder) }, context, meter, async () =>
    writeFolderList(folder, await fetch()),
  )
}

async function isWhole(
  { folder, isCurrent = () => true }: WantedFolder,
  { verify, signal }: TransferContext,
  meter: ProgressMeter,
): Promise<boolean> {
  const list = await readFolderList(folder)
  if (list === undefined || !isCurrent(list)) return false
  const check = verify ? 'always' : 'touched'
  for (const file of list.paths) {
    if (!(await isSoundFile(file, { check }, signal, meter))) return false
  }
  return true
}
