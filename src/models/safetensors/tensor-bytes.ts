import { open } from 'node:fs/promises'
import { isMap } from '../../base/is-map.ts'
import { invalidFile } from '../gguf/invalid-file.ts'

/** What the library that the format comes from takes at most. */
const LONGEST_HEADER = 100_000_000

/**
 * Bytes of the tensors whose names match, by the header of a safetensors file: eight bytes that say how long it is, then JSON with the place of
 * each tensor. Of the weights nothing is read. @throws ModelyardError `model_file_invalid`
 */
export async function readTensorBytes(path: string, names: RegExp): Promise<number> {
  const header = await readHeader(path)
  return Object.entries(header)
    .filter(([name]) => names.test(name))
    .reduce((sum, [, tensor]) => sum + lengthOf(tensor), 0)
}

async function readHeader(path: string): Promise<Record<string, unknown>> {
  const file = await open(path)
  try {
    const length = Number((await readAt(file, 0, 8)).readBigUInt64LE(0))
    if (length > LONGEST_HEADER) throw new RangeError('longer than any header')
    const header: unknown = JSON.parse((await readAt(file, 8, length)).toString('utf8'))
    if (isMap(header)) return header
    throw new TypeError('no object')
  } catch {
    throw invalidFile(path, 'has no header of a safetensors file; it is damaged or incomplete.')
  } finally {
    await file.close()
  }
}

async function readAt(
  file: Awaited<ReturnType<typeof open>>,
  position: number,
  length: number,
): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  if (bytesRead < length) throw new RangeError('cut off')
  return buffer
}

function lengthOf(tensor: unknown): number {
  const offsets: unknown = isMap(tensor) ? tensor['data_offsets'] : undefined
  const [begin, end] = (Array.isArray(offsets) ? offsets : []) as unknown[]
  return typeof begin === 'number' && typeof end === 'number' ? Math.max(0, end - begin) : 0
}
