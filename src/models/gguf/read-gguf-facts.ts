import { basename } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import type { GgufFacts } from '../model-facts.ts'
import { ggufFacts } from './gguf-facts.ts'
import type { GgufHeader } from './gguf-header.ts'
import { requireModel } from './gguf-role.ts'
import { invalidFile } from './invalid-file.ts'
import { readGgufHeader } from './read-gguf-header.ts'
import { shardPaths } from './shards.ts'
import { readSpecialTokens } from './special-tokens.ts'

/** Facts of a model and the files they are about, first shard first. */
export interface GgufModel {
  facts: GgufFacts
  files: { path: string; size: number }[]
}

/**
 * The facts of the model in a GGUF file, of all its shards when it is split.
 * @throws ModelyardError `model_file_invalid`, `model_not_found` (gone), `unsupported` (adapter, projector)
 */
export async function readGgufFacts(path: string): Promise<GgufFacts> {
  return (await readGgufModel(path)).facts
}

/** Like {@link readGgufFacts}, with the files. */
export async function readGgufModel(path: string): Promise<GgufModel> {
  const first = await readGgufHeader(path)
  requireModel(first)
  const headers = [first, ...(await readOtherShards(first))]
  const tensors = headers.flatMap((header) => header.tensors)
  const facts = ggufFacts(first, tensors, await readSpecialTokens(first))
  return { facts, files: headers.map((header) => ({ path: header.path, size: header.fileSize })) }
}

async function readOtherShards(first: GgufHeader): Promise<GgufHeader[]> {
  const count = first.values.get('split.count')
  if (count === undefined || count === 0 || count === 1) return []
  const paths = shardPaths(first.path)
  if (paths.length !== count) {
    throw invalidFile(first.path, `is one of ${String(count)} parts, but its name does not say so.`)
  }
  if (first.values.get('split.no') !== 0) {
    throw invalidFile(
      first.path,
      `is a later part of a split model; use the first, ${basename(paths[0] ?? '')}.`,
    )
  }
  const others: GgufHeader[] = []
  for (const path of paths.slice(1)) others.push(await readShard(first.path, path))
  return others
}

async function readShard(first: string, path: string): Promise<GgufHeader> {
  try {
    return await readGgufHeader(path)
  } catch (error) {
    if (!(error instanceof ModelyardError) || error.code !== 'model_not_found') throw error
    throw invalidFile(first, `is split and its part ${basename(path)} is missing.`, { missing: path })
  }
}
