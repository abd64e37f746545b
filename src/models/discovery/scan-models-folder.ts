import type { Stats } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { readRecord } from '../downloads/artifact-record.ts'
import { parseShardName, shardPaths } from '../gguf/shards.ts'
import { isCompanion } from './find-local-model.ts'

/** A model that lies in the models folder. */
export interface FoundModel {
  /** The file to open: the first shard of a split model. */
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
 * The models below a folder, in the order of their names: one for each split model, companions attached, a model that is reached on
 * several ways once. Links that form a circle end it (BR-22).
 */
export async function scanModelsFolder(folder: string): Promise<Scan> {
  const walk = new Walk(folder)
  await walk.begin()
  const models: FoundModel[] = []
  for (const file of walk.files.sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const model = await describe(folder, file, walk.files)
    if (model !== undefined) models.push(model)
  }
  return { models, problems: walk.problems }
}

interface SeenFile {
  path: string
  stats: Stats
}

class Walk {
  readonly files: SeenFile[] = []
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
    name: relative(folder, parts[0] ?? file.path)
      .split(sep)
      .join('/'),
    bytes,
    sources: (await readRecord(file.path))?.sources ?? [],
    companions: companionsOf(file, all),
    ...problemOf(missing, there),
  }
}

function problemOf(
  missing: string | undefined,
  files: readonly (SeenFile | undefined)[],
): { problem?: string } {
  if (missing !== undefined) return { problem: `its part ${missing} is missing` }
  const empty = files.find((file) => file?.stats.size === 0)
  return empty === undefined ? {} : { problem: `${empty.path} is empty` }
}

function companionsOf(file: SeenFile, all: readonly SeenFile[]): string[] {
  const folder = file.path.slice(0, file.path.lastIndexOf(sep) + 1)
  return all
    .map(({ path }) => path)
    .filter(
      (path) => path.startsWith(folder) && !path.slice(folder.length).includes(sep) && isCompanion(path),
    )
}
