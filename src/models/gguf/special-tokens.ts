import { open } from 'node:fs/promises'
import type { SpecialTokens } from './gguf-facts.ts'
import type { GgufHeader } from './gguf-header.ts'
import { HeaderCursor } from './header-cursor.ts'

/** Longest text that is kept of one token. */
const MOST = 4096

/** The texts of the tokens that begin and end a text: their ids are in the header, their texts in the array that was stepped over. */
export async function readSpecialTokens(header: GgufHeader): Promise<SpecialTokens> {
  const tokens = header.arrays.get('tokenizer.ggml.tokens')
  const bos = header.values.get('tokenizer.ggml.bos_token_id')
  const eos = header.values.get('tokenizer.ggml.eos_token_id')
  const wanted = [bos, eos].filter((id) => typeof id === 'number' && id >= 0 && id < (tokens?.length ?? 0))
  if (tokens === undefined || wanted.length === 0) return {}
  const texts = await readTokens(header, tokens.offset, wanted as number[])
  return { ...optionalText('bosToken', texts.get(bos)), ...optionalText('eosToken', texts.get(eos)) }
}

function optionalText(key: keyof SpecialTokens, text: string | undefined): SpecialTokens {
  return text === undefined ? {} : { [key]: text }
}

async function readTokens(header: GgufHeader, offset: number, ids: number[]): Promise<Map<unknown, string>> {
  const texts = new Map<unknown, string>()
  const file = await open(header.path, 'r')
  try {
    const cursor = new HeaderCursor(file, header.path, header.fileSize)
    cursor.skip(offset)
    await cursor.walkTexts(Math.max(...ids) + 1, (bytes, start, end, index) => {
      if (ids.includes(index)) texts.set(index, bytes.toString('utf8', start, Math.min(end, start + MOST)))
    })
  } finally {
    await file.close()
  }
  return texts
}
