import { open } from 'node:fs/promises'
import type { GgufHeader } from './gguf-header.ts'
import { HeaderCursor } from './header-cursor.ts'

const TYPE_NORMAL = 1
const TYPE_UNUSED = 5
const TYPE_BYTE = 6
/** Types taken out of the file at once. */
const AT_ONCE = 4096

/** A token that is more than a piece of text, or whose text the caller asked for. */
export interface NotedToken {
  id: number
  text: string
  /** As in the file: 2 unknown, 3 control, 4 user-defined; 1 where the file says nothing. */
  type: number
}

/** What is kept of a vocabulary: its size, and the tokens that are not plain text. */
export interface GgufVocabulary {
  size: number
  /** Bytes of the longest token's text, as the file writes it; at least 1. */
  longestToken: number
  noted: NotedToken[]
  /** Ids that the header names, by the key's end: `bos`, `eos`, `eot`, `fim_pre`, …. */
  ids: Record<string, number>
}

/** Reads the list of tokens once, keeping those with a special type and those whose text `isNoted` wants. */
export async function readVocabulary(
  header: GgufHeader,
  isNoted: (text: string) => boolean,
): Promise<GgufVocabulary> {
  const list = header.arrays.get('tokenizer.ggml.tokens')
  const types = await readTypes(header)
  const noted: NotedToken[] = []
  let longestToken = 1
  const file = await open(header.path, 'r')
  try {
    const cursor = new HeaderCursor(file, header.path, header.fileSize)
    cursor.skip(list?.offset ?? 0)
    await cursor.walkTexts(list?.length ?? 0, (bytes, start, end, id) => {
      longestToken = Math.max(longestToken, end - start)
      const type = types[id] ?? TYPE_NORMAL
      const text = bytes.toString('utf8', start, end)
      if (isSpecial(type) || isNoted(text)) noted.push({ id, text, type })
    })
  } finally {
    await file.close()
  }
  return { size: list?.length ?? 0, longestToken, noted, ids: namedIds(header) }
}

function isSpecial(type: number): boolean {
  return type !== TYPE_NORMAL && type !== TYPE_UNUSED && type !== TYPE_BYTE
}

async function readTypes(header: GgufHeader): Promise<Uint8Array> {
  const list = header.arrays.get('tokenizer.ggml.token_type')
  const types = new Uint8Array(list?.length ?? 0)
  if (list === undefined) return types
  const file = await open(header.path, 'r')
  try {
    const cursor = new HeaderCursor(file, header.path, header.fileSize)
    cursor.skip(list.offset)
    for (let done = 0; done < list.length; done += AT_ONCE) {
      const end = Math.min(done + AT_ONCE, list.length)
      await cursor.ensure((end - done) * 4)
      for (let id = done; id < end; id++) types[id] = cursor.uint32()
    }
  } finally {
    await file.close()
  }
  return types
}

function namedIds({ values }: GgufHeader): Record<string, number> {
  const ids: Record<string, number> = {}
  for (const [key, value] of values) {
    const name = /^tokenizer\.ggml\.(\w+)_token_id$/.exec(key)?.[1]
    if (name !== undefined && typeof value === 'number') ids[name] = value
  }
  return ids
}
