import type { Stats } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { readRecord } from '../downloads/artifact-record.ts'
import { FOLDER_LIST, readFolderList } from '../downloads/model-files.ts'
import { parseShardName, shardPaths } from '../gguf/shards.ts'
import { isCompanion } from './find-local-model.ts'

/** A model that lies in the models folder. */
export interface FoundModel {
  /** What is opened: the file, the first shard of a split model, or the folder of a model that is one. */
  path: string
  /** Path from the models folder, `/` between its parts. */
  name: string
  /** Bytes of all its files. */
  bytes: number
  /** The sources it was fetched from; empty for a file that was put there by hand. */
  sources: readonly string[]
  /** Projectors and draft models beside it. */
  companions: readonly string[]
  /** Why it cannot be used, where that shows without reading it. */
  problem?: string
}

export interface Scan {
  models: FoundModel[]
  /** Links that lead nowhere, folders that cannot be read. */
  problems: string[]
}

/** Folders deeper than this are not looked into. */
const DEEPEST = 12
/** Models in one folder beyond this are not listed. */
const MOST_FILES = 10_000

/**
 * The models below a folder, in the order of their names: one for each split model and each folder that was fetched as one, companions attached, a
 * model that is reached on several ways once. Links that form a circle end it (BR-22).
 */
export async function scanModelsFolder(folder: string): Promise<Scan> {
  const walk = new Walk(folder)
  await walk.begin()
  const models: FoundModel[] = []
  for (const file of walk.files.sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const model = await describe(folder, file, walk.files)
    if (model !== undefined) models.push(model)
  }
  for (const path of walk.folders) {
    const model = await describeFolder(folder, path)
    if (model !== undefined) models.push(model)
  }
  return { models: models.sort((a, b) => (a.path < b.path ? -1 : 1)), problems: walk.problems }
}

interface SeenFile {
  path: string
  stats: Stats
}

class Walk {
  readonly files: SeenFile[] = []
  /** Those that were fetched whole. */
  readonly folders: string[] = []
  readonly problems: string[] = []
  readonly #root: string
  readonly #seen = new Set<string>()

  constructor(root: string) {
    this.#root = root
  }

  async begin(): Promise<void> {
    const stats = await stat(this.#root).catch(() => undefined)
    // A link back to the root must not make everything be seen twice.
    if (stats !== undefined) this.#seen.add(`${stats.dev}:${stats.ino}`)
    await this.#enter(this.#root, 0)
  }

  async #enter(folder: string, depth: number): Promise<void> {
    const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      // A models folder that nobody made yet is empty.
      if (folder !== this.#root || error.code !== 'ENOENT') this.problems.push(`${folder}: ${error.code}`)
      return []
    })
    if (entries.some(({ name }) => name === FOLDER_LIST)) this.folders.push(folder)
    // Links last, so that a model is known by its own place.
    const order = entries.sort(
      (a, b) => Number(a.isSymbolicLink()) - Number(b.isSymbolicLink()) || (a.name < b.name ? -1 : 1),
    )
    for (const { name } of order) {
      if (!name.startsWith('.') && !name.endsWith('.wheel')) await this.#look(join(folder, name), depth)
    }
  }

  async #look(path: string, depth: number): Promise<void> {
    const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
      this.problems.push(`${path}: ${error.code === 'ENOENT' ? 'a link that leads nowhere' : error.code}`)
      return undefined
    })
    if (stats === undefined || this.files.length >= MOST_FILES) return
    const isModel = stats.isFile() && /\.gguf$/i.test(path)
    if (!isModel && !stats.isDirectory()) return
    const identity = `${stats.dev}:${stats.ino}`
    if (this.#seen.has(identity)) return
    this.#seen.add(identity)
    if (isModel) this.files.push({ path, stats })
    else if (depth < DEEPEST) await this.#enter(path, depth + 1)
  }
}

/** Undefined for folders of the catalog, which knows where its models are. */
async function describeFolder(root: string, path: string): Promise<FoundModel | undefined> {
  const { sources = [], paths } = (await readFolderList(path)) ?? { paths: [] }
  if (sources.length === 0) return undefined
  const sizes = await Promise.all(paths.map(async (file) => (await stat(file).catch(() => undefined))?.size))
  return {
    path,
    name: nameIn(root, path),
    bytes: sizes.reduce<number>((sum, size = 0) => sum + size, 0),
    sources,
    companions: [],
    ...problemOf(paths[sizes.indexOf(undefined)], paths[sizes.indexOf(0)]),
  }
}

function nameIn(root: string, path: string): string {
  return relative(root, path).split(sep).join('/')
}

/** Undefined for files that belong to another one's model. */
async function describe(
  folder: string,
  file: SeenFile,
  all: readonly SeenFile[],
): Promise<FoundModel | undefined> {
  const shard = parseShardName(file.path)
  if (isCompanion(file.path)) return undefined
  const parts = shardPaths(file.path)
  const there = parts.map((part) => all.find(({ path }) => path === part))
  // Of a set without its first shard, the first that is there stands for it, so that it does not vanish without a word.
  if (shard !== undefined && there.find((part) => part !== undefined)?.path !== file.path) return undefined
  const missing = parts.find((_, index) => there[index] === undefined)
  const bytes = there.reduce((sum, part) => sum + (part?.stats.size ?? 0), 0)
  return {
    path: parts[0] ?? file.path,
    name: nameIn(folder, parts[0] ?? file.path),
    bytes,
    sources: (await readRecord(file.path))?.sources ?? [],
    companions: companionsOf(file, all),
    ...problemOf(missing, there.find((part) => part?.stats.size === 0)?.path),
  }
}

/** By the places of a file that is not there, and of one that is empty. */
function problemOf(missing: string | undefined, empty: string | undefined): { problem?: string } {
  if (missing !== undefined) return { problem: `its part ${missing} is missing` }
  return empty === undefined ? {} : { problem: `${empty} is empty` }
}

function companionsOf(file: SeenFile, all: readonly SeenFile[]): string[] {
  const folder = file.path.slice(0, file.path.lastIndexOf(sep) + 1)
  return all
    .map(({ path }) => path)
    .filter(
      (path) => path.startsWith(folder) && !path.slice(folder.length).includes(sep) && isCompanion(path),
    )
}
