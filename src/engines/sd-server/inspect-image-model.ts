import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { ModelyardError } from '../../base/errors.ts'
import { invalidFile, truncatedFile } from '../../models/gguf/invalid-file.ts'
import { unreadableFile } from '../../models/gguf/read-gguf-header.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { sdServerOptions, type SdServerOptions } from './sd-server-options.ts'

/** Options that name files of the model. */
export const COMPANIONS = ['vae', 'taesd', 'clipL', 'clipG', 't5xxl', 'llm'] as const

/** What comes before the JSON of a safetensors file: its length. */
const LENGTH_BYTES = 8

/**
 * What the files of a model are, judged by their first bytes: headers of diffusion models have no names that could be trusted, so that only
 * an entry that names this engine is one. Pickled checkpoints (`.ckpt`, `.pt`) are not taken.
 * @throws ModelyardError `model_file_invalid`, `model_not_found` naming the option of a file that is gone
 */
export async function inspectImageModel(spec: ModelSpec, path: string): Promise<ModelFacts> {
  const companions = companionPaths(sdServerOptions(spec))
  const format = await formatOf(path)
  const others = await Promise.all(
    companions.map(async ([option, file]) => {
      await formatOf(file).catch((error: unknown) => {
        throw ofOption(error, spec.id, option)
      })
      return await stat(file)
    }),
  )
  const files = [await stat(path), ...others]
  return {
    format,
    path,
    fileSize: files.reduce((sum, { size }) => sum + size, 0),
    contentId: createHash('sha256').update(files.map(identityOf).join('\n')).digest('hex'),
    purpose: 'image',
  }
}

export function companionPaths(
  options: SdServerOptions,
): [option: (typeof COMPANIONS)[number], path: string][] {
  return COMPANIONS.flatMap((option) => {
    const path = options[option]
    return path === undefined ? [] : [[option, path]]
  })
}

function identityOf({ dev, ino, size, mtimeMs }: Stats): string {
  return `${dev}:${ino}:${size}:${mtimeMs}`
}

async function formatOf(path: string): Promise<'gguf' | 'safetensors'> {
  const stats = await stat(path).catch((cause: unknown) => {
    throw unreadableFile(path, cause)
  })
  if (!stats.isFile())
    throw invalidFile(path, 'is not a file; a diffusion model is one GGUF or safetensors file.')
  const beginning = await beginningOf(path)
  if (beginning.toString('latin1', 0, 4) === 'GGUF') return 'gguf'
  if (beginning.length <= LENGTH_BYTES || beginning[LENGTH_BYTES] !== 0x7b)
    throw invalidFile(path, 'is neither GGUF nor safetensors. Convert it: sd-cli -M convert.')
  const header = LENGTH_BYTES + Number(beginning.readBigUInt64LE(0))
  if (header > stats.size) throw truncatedFile(path, header, stats.size)
  return 'safetensors'
}

async function beginningOf(path: string): Promise<Buffer> {
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw unreadableFile(path, cause)
  })
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LENGTH_BYTES + 1), 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

function ofOption(error: unknown, model: string, option: string): unknown {
  if (!(error instanceof ModelyardError)) return error
  return new ModelyardError(error.code, `Model "${model}", option "${option}": ${error.message}`, {
    details: error.details,
    cause: error,
  })
}
