import { open, stat } from 'node:fs/promises'
import { ModelyardError } from '../../base/errors.ts'
import { describeForeignFile } from './foreign-file.ts'
import type { GgufHeader, GgufValue } from './gguf-header.ts'
import { HeaderCursor } from './header-cursor.ts'
import { invalidFile, truncatedFile } from './invalid-file.ts'
import { type Metadata, readMetadata } from './read-metadata.ts'
import { readTensors } from './read-tensors.ts'
import { FLOAT32, INT32, STRING, UINT32 } from './value-type.ts'

const MAGIC = 'GGUF'
/** Magic, version, number of tensors, number of keys. */
const PREAMBLE = 24
const DEFAULT_ALIGNMENT = 32
const MAX_ALIGNMENT = 1 << 20

/**
 * Reads and checks the header of one GGUF file (versions 2 and 3, little-endian): sizes, duplicates, alignment, extents of the tensors
 * against the file. Reads a few hundred kilobytes at a time and never trusts a declared size (S5).
 * @throws ModelyardError `model_file_invalid`; `model_not_found` when the file is gone
 */
export async function readGgufHeader(path: string): Promise<GgufHeader> {
  const size = await regularFileSize(path)
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw unreadableFile(path, cause)
  })
  try {
    return await readHeader(new HeaderCursor(file, path, size))
  } finally {
    await file.close()
  }
}

/** Opening a FIFO would wait for a writer for ever, so only plain files are opened. */
async function regularFileSize(path: string): Promise<number> {
  const stats = await stat(path).catch((cause: unknown) => {
    throw unreadableFile(path, cause)
  })
  if (!stats.isFile()) throw invalidFile(path, 'is not a file.')
  return stats.size
}

/** What `stat` or `open` failed with, as an error with a next step. */
export function unreadableFile(path: string, cause: unknown): ModelyardError {
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause)
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return new ModelyardError('model_not_found', `There is no file ${path}.`, {
      details: { path },
      cause,
    })
  }
  return new ModelyardError('model_file_invalid', `The model file ${path} cannot be read: ${code}.`, {
    details: { path },
    cause,
  })
}

async function readHeader(cursor: HeaderCursor): Promise<GgufHeader> {
  const { version, tensorCount, keyCount } = await readPreamble(cursor)
  const metadata = await readMetadata(cursor, keyCount)
  checkTokenizerArrays(cursor.path, metadata)
  const tensors = await readTensors(cursor, tensorCount, alignmentOf(cursor.path, metadata.values))
  const { values, arrays } = metadata
  return { path: cursor.path, fileSize: cursor.size, version, values, arrays, tensors }
}

async function readPreamble(
  cursor: HeaderCursor,
): Promise<{ version: number; tensorCount: number; keyCount: number }> {
  const beginning = await cursor.peekBeginning(512)
  if (!isCutMagic(beginning)) throw invalidFile(cursor.path, describeForeignFile(beginning))
  if (cursor.size < PREAMBLE) throw truncatedFile(cursor.path, PREAMBLE, cursor.size)
  await cursor.ensure(PREAMBLE)
  cursor.skip(4)
  const version = checkVersion(cursor.path, cursor.uint32())
  return { version, tensorCount: cursor.uint64(), keyCount: cursor.uint64() }
}

/** A file cut within its magic is truncated, not foreign. */
function isCutMagic(beginning: Buffer): boolean {
  const magic = beginning.toString('latin1', 0, 4)
  return magic.length > 0 && MAGIC.startsWith(magic)
}

function checkVersion(path: string, version: number): number {
  if (version === 2 || version === 3) return version
  // The version of a big-endian file, read little-endian, has all its bits in the upper half.
  if (version !== 0 && version % 65_536 === 0) {
    throw invalidFile(path, 'is big-endian; only little-endian files are supported. Convert it again.')
  }
  throw invalidFile(path, `has GGUF version ${version}; versions 2 and 3 are read.`)
}

function alignmentOf(path: string, values: ReadonlyMap<string, GgufValue>): number {
  const alignment = values.get('general.alignment') ?? DEFAULT_ALIGNMENT
  if (typeof alignment === 'number' && alignment > 0 && alignment <= MAX_ALIGNMENT) {
    if (Number.isInteger(Math.log2(alignment))) return alignment
  }
  throw invalidFile(path, `is corrupt: its alignment is ${String(alignment)}, no power of two.`)
}

/** Element types that llama.cpp asserts, and arrays it indexes by token without looking at their length. */
const TOKENIZER_ARRAYS: readonly [key: string, elementTypes: readonly number[], perToken: boolean][] = [
  ['tokenizer.ggml.tokens', [STRING], true],
  ['tokenizer.ggml.merges', [STRING], false],
  ['tokenizer.ggml.token_type', [INT32, UINT32], true],
  ['tokenizer.ggml.scores', [FLOAT32], true],
]

function checkTokenizerArrays(path: string, { types, arrays }: Metadata): void {
  const tokens = arrays.get('tokenizer.ggml.tokens')
  for (const [key, elementTypes, perToken] of TOKENIZER_ARRAYS) {
    const array = arrays.get(key)
    if (array === undefined) {
      if (types.has(key)) throw invalidFile(path, `is corrupt: "${key}" is no array.`)
      continue
    }
    if (!elementTypes.includes(array.elementType)) {
      throw invalidFile(path, `is corrupt: "${key}" has elements of type ${array.elementType}.`)
    }
    if (perToken && array.length !== tokens?.length) {
      throw invalidFile(
        path,
        `is corrupt: "${key}" has ${array.length} entries for ${tokens?.length ?? 0} tokens.`,
      )
    }
  }
}
