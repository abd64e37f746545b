import type { ModelyardError } from '../../base/errors.ts'
import { nearestNames } from '../../base/nearest.ts'
import { parseShardName } from '../gguf/shards.ts'
import type { HubSource } from '../hub-source.ts'
import type { HubFile } from './hub-client.ts'
import { notInRepository as notFound } from './hub-error.ts'

/** What to take where nobody says: small and good first. */
const PREFERRED = ['Q4_K_M', 'Q4_K_S', 'Q5_K_M', 'Q4_0', 'Q6_K', 'Q8_0', 'F16', 'BF16', 'F32']

/** Projectors, importance matrices and draft models are no models to be chosen (BR-22). */
const NO_MODEL = /(^|[-._/])(mmproj|imatrix|draft)([-._]|$)/i

/** Files of one model, first shard first. */
export type HubModel = readonly [HubFile, ...HubFile[]]

/**
 * The files that a source means: the named one, the one of a quantisation, or the best known one; with all its shards.
 * @throws ModelyardError `model_not_found` with what there is
 */
export function pickHubFiles(source: HubSource, files: readonly HubFile[]): HubModel {
  if (source.file !== undefined) return named(source, source.file, files)
  const models = modelsAmong(files)
  if (source.quantization !== undefined) return ofQuantization(source, source.quantization, models)
  if (models.length === 0) throw noModel(source, files)
  const best = PREFERRED.map((name) => models.find(([first]) => hasQuantization(first.path, name)))
  return best.find((model) => model !== undefined) ?? onlyModel(source, models)
}

/** Whether there is a GGUF file that can be chosen. */
export function hasGgufModel(files: readonly HubFile[]): boolean {
  return modelsAmong(files).length > 0
}

function noModel(source: HubSource, files: readonly HubFile[]): ModelyardError {
  const pickled = files.some(({ path }) => /\.(bin|pt|pth|ckpt)$/i.test(path))
  const why = pickled
    ? ' Its weights are pickles, which run program code when they are opened: those are never fetched.'
    : ''
  return notFound(
    source,
    `has neither GGUF files nor safetensors.${why} Look for a repository with "GGUF" in its name.`,
  )
}

function named(source: HubSource, path: string, files: readonly HubFile[]): HubModel {
  const file = files.find((candidate) => candidate.path === path)
  if (file !== undefined) return withShards(source, file, files)
  const near = nearestNames(
    path,
    files.map((candidate) => candidate.path),
  )
  throw notFound(source, `has no file ${path}.${near.length > 0 ? ` Near it: ${near.join(', ')}.` : ''}`)
}

function ofQuantization(source: HubSource, name: string, models: readonly HubModel[]): HubModel {
  const found = models.filter(([first]) => hasQuantization(first.path, name))
  if (found.length > 0) return onlyModel(source, found)
  const there = models.map(([first]) => first.path).join(', ')
  throw notFound(source, `has no file of quantisation ${name}. There is: ${there || 'no GGUF file'}.`)
}

function onlyModel(source: HubSource, models: readonly HubModel[]): HubModel {
  const [model, ...others] = models
  if (model !== undefined && others.length === 0) return model
  const names = models.map(([first]) => first.path).join(', ')
  throw notFound(
    source,
    `has several that fit: ${names}. Name one: hf:${source.repository}/${model?.[0].path}`,
  )
}

/** GGUF files that are models, shards joined. */
function modelsAmong(files: readonly HubFile[]): HubModel[] {
  return files
    .filter(({ path }) => /\.gguf$/i.test(path) && !NO_MODEL.test(path.replace(/\.gguf$/i, '')))
    .filter(({ path }) => (parseShardName(path)?.number ?? 1) === 1)
    .map((file) => joinShards(file, files))
    .filter((model) => model !== undefined)
}

/** All shards of the set that `first` begins; undefined when one is missing. */
function joinShards(first: HubFile, files: readonly HubFile[]): HubModel | undefined {
  const shard = parseShardName(first.path)
  if (shard === undefined) return [first]
  const head = first.path.slice(0, first.path.lastIndexOf('/') + 1) + shard.stem
  const rest = Array.from({ length: Math.max(0, shard.count - 1) }, (_, index) => {
    const number = String(index + 2).padStart(5, '0')
    const path = `${head}-${number}-of-${String(shard.count).padStart(5, '0')}.gguf`
    return files.find((file) => file.path.toLowerCase() === path.toLowerCase())
  })
  return rest.every((file) => file !== undefined) ? [first, ...rest] : undefined
}

function withShards(source: HubSource, file: HubFile, files: readonly HubFile[]): HubModel {
  const shard = parseShardName(file.path)
  if (shard === undefined) return [file]
  if (shard.number !== 1) {
    throw notFound(
      source,
      `is split; name its first part, …-00001-of-${String(shard.count).padStart(5, '0')}.gguf.`,
    )
  }
  const model = joinShards(file, files)
  if (model === undefined)
    throw notFound(source, `is split in ${shard.count} parts and not all of them are there.`)
  return model
}

/** Whether a name carries the quantisation as a word of its own: `Q4_K` is not in `Q4_K_M`. */
function hasQuantization(path: string, name: string): boolean {
  const word = name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  return new RegExp(`(^|[-._/])${word}([-./]|$)`, 'i').test(path)
}
