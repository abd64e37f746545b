import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import { parseShardName, shardPaths } from '../gguf/shards.ts'
import { unreadableFile } from '../gguf/read-gguf-header.ts'
import { isOnnxFolder } from '../onnx/onnx-folder.ts'
import { isSafetensorsFolder } from '../safetensors/safetensors-folder.ts'

/** Files that belong to a model and are none themselves (BR-22). */
const COMPANION = /(^|[-._])(mmproj|draft|imatrix)([-._]|$)/i

/** Whether a file's name says that it only accompanies a model: a projector, a draft model, an importance matrix. */
export function isCompanion(path: string): boolean {
  return COMPANION.test(basename(path).replace(/\.gguf$/i, ''))
}

/**
 * The file to open for a local path: the file itself, the first shard of a split model, or the one model in a folder. A folder that is a
 * model of several files (ONNX, safetensors) is opened itself.
 * @throws ModelyardError `model_not_found` (gone, or no model in the folder), `config_invalid` (several)
 */
export async function findLocalModel(path: string): Promise<string> {
  const stats = await stat(path).catch((cause: unknown) => {
    throw unreadableFile(path, cause)
  })
  if (stats.isDirectory()) return modelInFolder(path)
  const shard = parseShardName(path)
  return shard === undefined ? path : (shardPaths(path)[0] ?? path)
}

/** A file named like the folder, else the only one that is a model. */
async function modelInFolder(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => /\.gguf$/i.test(name) && !isCompanion(name)).sort()
  const models = names.filter((name) => (parseShardName(name)?.number ?? 1) === 1)
  const namesake = models.find((name) => stemOf(name) === basename(folder).toLowerCase())
  const [only, ...others] = models
  const chosen = namesake ?? (others.length === 0 ? only : undefined)
  if (chosen !== undefined) return join(folder, chosen)
  if (only === undefined) {
    if ((await isOnnxFolder(folder)) || (await isSafetensorsFolder(folder))) return folder
    throw new ModelyardError(
      'model_not_found',
      `There is no model (.gguf, .onnx, or .safetensors with a config.json) in the folder ${folder}.`,
      {
        details: { path: folder },
      },
    )
  }
  throw new ModelyardError(
    'config_invalid',
    `There are several models in ${folder}; name one: ${models.join(', ')}.`,
    {
      details: { path: folder },
    },
  )
}

function stemOf(name: string): string {
  return (parseShardName(name)?.stem ?? name.replace(/\.gguf$/i, '')).toLowerCase()
}
