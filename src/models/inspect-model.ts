import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { SharedWork } from '../base/shared-work.ts'
import { knownDigest } from './downloads/artifact-record.ts'
import { purposeOf } from './gguf/gguf-facts.ts'
import { invalidFile } from './gguf/invalid-file.ts'
import { readGgufModel } from './gguf/read-gguf-facts.ts'
import { unreadableFile } from './gguf/read-gguf-header.ts'
import type { ModelFacts } from './model-facts.ts'
import { isOnnxFolder, readOnnxFolder } from './onnx/onnx-folder.ts'
import { isSafetensorsFolder, readSafetensorsFolder } from './safetensors/safetensors-folder.ts'
import { weightsId } from './weights-id.ts'

interface Inspected {
  facts: ModelFacts
  /** All files of the model, and what `stat` said of them. */
  files: { path: string; stats: Stats }[]
}

const MOST_CACHED = 256
/** A file that changes while it is read is read again, this often. */
const ATTEMPTS = 3

/** Looks at model files and remembers what it saw for as long as `stat` says the same (BR-26). */
export class ModelInspector {
  readonly #cache = new Map<string, Inspected>()
  readonly #work = new SharedWork<ModelFacts>()

  /**
   * The facts of the model in this file. Symbolic links are followed; shards of a split model are found beside the first.
   * @throws ModelyardError `model_not_found` (the file is gone), `model_file_invalid`, `unsupported`
   */
  async inspect(path: string): Promise<ModelFacts> {
    const absolute = resolve(path)
    const known = this.#cache.get(absolute)
    if (known !== undefined && (await isUnchanged(known))) return known.facts
    return this.#work.join(absolute, undefined, async () => this.#lookAt(absolute))
  }

  async #lookAt(path: string): Promise<ModelFacts> {
    this.#cache.delete(path)
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const inspected = await lookAt(path)
      if (!(await isUnchanged(inspected))) continue
      if (this.#cache.size >= MOST_CACHED) this.#cache.clear()
      this.#cache.set(path, inspected)
      return inspected.facts
    }
    throw invalidFile(path, 'is still being written.')
  }
}

async function lookAt(path: string): Promise<Inspected> {
  const before = await statOf(path)
  if (before.isDirectory()) return lookAtFolder(path)
  const { facts: gguf, files } = await readGgufModel(path)
  const seen = await Promise.all(
    files.map(async (file) => ({ path: file.path, stats: await statOf(file.path) })),
  )
  if (seen[0] !== undefined) seen[0].stats = before
  const facts: ModelFacts = {
    format: 'gguf',
    path,
    fileSize: seen.reduce((sum, { stats }) => sum + stats.size, 0),
    contentId: await contentId(seen),
    weightsId: await weightsId(files.map((file) => file.path)),
    purpose: purposeOf(gguf),
    gguf,
  }
  return { facts, files: seen }
}

/** A model of several files (ONNX, safetensors): the folder is its path. */
async function lookAtFolder(path: string): Promise<Inspected> {
  const { files, ...judged } = await judgeFolder(path)
  const seen = await Promise.all(files.map(async (file) => ({ path: file, stats: await statOf(file) })))
  const facts: ModelFacts = {
    path,
    fileSize: seen.reduce((sum, { stats }) => sum + stats.size, 0),
    contentId: await contentId(seen),
    ...judged,
  }
  return { facts, files: seen }
}

type JudgedFolder = Pick<ModelFacts, 'format' | 'purpose' | 'onnx' | 'safetensors'> & { files: string[] }

async function judgeFolder(path: string): Promise<JudgedFolder> {
  const isSafetensors = !(await isOnnxFolder(path)) && (await isSafetensorsFolder(path))
  if (!isSafetensors) return { format: 'onnx', ...(await readOnnxFolder(path)) }
  return { format: 'safetensors', ...(await readSafetensorsFolder(path)) }
}

async function statOf(path: string): Promise<Stats> {
  return stat(path).catch((cause: unknown) => {
    throw unreadableFile(path, cause)
  })
}

async function isUnchanged({ files }: Inspected): Promise<boolean> {
  for (const { path, stats } of files) {
    const now = await stat(path).catch(() => undefined)
    if (now === undefined || statKey(now) !== statKey(stats)) return false
  }
  return true
}

function statKey({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [dev, ino, size, mtimeMs, ctimeMs].join(':')
}

/**
 * Identity of the bytes on disk. Two names of one file (links) agree; two copies of the same content do not, although their sums do:
 * they do not share pages, and memory that is charged once for both would be charged too little (R4).
 */
async function contentId(files: Inspected['files']): Promise<string> {
  const parts = await Promise.all(
    files.map(async ({ path, stats: { dev, ino, size, mtimeMs }, stats }) => {
      const digest = await knownDigest(path, stats)
      return digest === undefined ? `${dev}:${ino}:${size}:${mtimeMs}` : `${dev}:${ino}:${digest}`
    }),
  )
  return createHash('sha256').update(parts.join('\n')).digest('hex')
}
