import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { readRecord } from './artifact-record.ts'
import { writeJsonFile } from './write-json-file.ts'

/** Lies in a folder that is one model when all its files are there. */
const LIST = 'folder.modelyard.json'

export function folderListPath(folder: string): string {
  return join(folder, LIST)
}

/** Says that a folder is whole: these are its files, relative to it. */
export async function writeFolderList(folder: string, files: readonly string[]): Promise<void> {
  await writeJsonFile(folderListPath(folder), { files }, { durable: true })
}

/** The files of a model that is a folder, or undefined where it was not fetched whole. */
export async function filesOfFolder(folder: string): Promise<string[] | undefined> {
  try {
    const { files } = JSON.parse(await readFile(folderListPath(folder), 'utf8')) as { files: string[] }
    return files.map((file) => join(folder, ...file.split('/')))
  } catch {
    return undefined
  }
}

/** All files of a model: of a fetched folder, or of a file and its shards. */
export async function filesOfModel(path: string): Promise<string[]> {
  const inFolder = await filesOfFolder(path)
  if (inFolder !== undefined) return inFolder
  const record = await readRecord(path)
  return [path, ...(record?.shards ?? []).map((name) => join(dirname(path), basename(name)))]
}
