import { open, type FileHandle } from 'node:fs/promises'
import { invalidFile, truncatedFile } from '../gguf/invalid-file.ts'

/** Longest tag and length before a field's content. */
const MOST_HEADER = 20
/** Fields that a model file begins with and ends with; more is no model. */
const MOST_FIELDS = 1000

/**
 * Whether the outermost fields of an ONNX file are whole: what is cut off or something else entirely is found before an engine reads it,
 * for some end their process then. @throws ModelyardError `model_file_invalid`
 */
export async function checkOnnxFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    let hasGraph = false
    let at = 0
    for (let fields = 0; at < size; fields++) {
      const field = fields < MOST_FIELDS ? await readField(file, at) : undefined
      if (field === undefined) throw invalidFile(path, 'is no ONNX file.')
      if (field.end > size) throw truncatedFile(path, field.end, size)
      hasGraph ||= field.number === 7
      at = field.end
    }
    if (!hasGraph) throw invalidFile(path, 'holds no graph.')
  } finally {
    await file.close()
  }
}

async function readField(file: FileHandle, at: number): Promise<{ number: number; end: number } | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_HEADER), 0, MOST_HEADER, at)
  const bytes = buffer.subarray(0, bytesRead)
  const tag = readVarint(bytes, 0)
  if (tag === undefined || tag.value >> 3 === 0) return undefined
  const number = Math.floor(tag.value / 8)
  const kind = tag.value % 8
  if (kind === 1) return { number, end: at + tag.next + 8 }
  if (kind === 5) return { number, end: at + tag.next + 4 }
  const value = readVarint(bytes, tag.next)
  if (value === undefined || (kind !== 0 && kind !== 2)) return undefined
  return { number, end: at + value.next + (kind === 2 ? value.value : 0) }
}

function readVarint(bytes: Buffer, from: number): { value: number; next: number } | undefined {
  let value = 0
  for (let at = from; at < Math.min(bytes.length, from + 8); at++) {
    const byte = bytes[at] ?? 0
    value += (byte & 0x7f) * 2 ** (7 * (at - from))
    if (byte < 0x80) return { value, next: at + 1 }
  }
  return undefined
}
