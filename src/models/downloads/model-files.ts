import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isSafePath } from '../hub-source.ts'
import { readRecord } from './artifact-record.ts'
import { writeJsonFile } from './write-json-file.ts'

/** Lies in a folder that is one model when all its files are there. */
export const FOLDER_LIST = 'folder.modelyard.json'

/** What makes a folder one model. */
export interface FolderList {
  /** Its files, relative to it. */
  files: readonly string[]
  /** Sources that led to it, each in its canonical writing; absent for models of the catalog, which is asked for them. */
  sources?: readonly string[]
  /** Commit that all files are of, where they are of one. */
  commit?: string
}

export function folderListPath(folder: string): string {
  return join(folder, FOLDER_LIST)
}

/** Says that a folder is whole. */
export async function writeFolderList(folder: string, list: FolderList): Promise<void> {
  await writeJsonFile(folderListPath(folder), list, { durable: true })
}

/** The list of a folder, with the places of its files; undefined where it was not fetched whole. */
export async function readFolderList(
  folder: string,
): Promise<(FolderList & { paths: string[] }) | undefined> {
  try {
    const list = JSON.parse(await readFile(folderListPath(folder), 'utf8')) as FolderList
    // What is listed is what is deleted with the model.
    if (!list.files.every((file) => isSafePath(file))) return undefined
    return { ...list, paths: list.files.map((file) => join(folder, ...file.split('/'))) }
  } catch {
    return undefined
  }
}

/** Notes that another source led to a folder that is there already. */
export async function addFolderSource(folder: string, source: string): Promise<void> {
  const list = await readFolderList(folder)
  if (list === undefined || list.sources?.includes(source) === true) return
  const { paths: _, sources = [], ...rest } = list
  // As with files: a folder that is read-only costs the question the next time.
  await writeFolderList(folder, { ...rest, sources: [...sources, source] }).catch(() => undefined)
}

/** The files of a model that is a folder, or undefined where it was not fetched whole. */
export async function filesOfFolder(folder: string): Promise<string[] | undefined> {
  return (await readFolderList(folder))?.paths
}

/** All files of a model: of a fetched folder, or of a file and its shards. */
export async function filesOfModel(path: string): Promise<string[]> {
  const inFolder = await filesOfFolder(path)
  if (inFolder !== undefined) return inFolder
  const record = await readRecord(path)
  return [path, ...(record?.shards ?? []).map((name) => join(dirname(path), basename(name)))]
}
