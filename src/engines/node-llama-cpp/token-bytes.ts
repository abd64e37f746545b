/** How a tokenizer writes the bytes of a token into its list. */
export type TokenWriting = 'byte-level' | 'escaped-spaces'

export const TOKEN_TYPE_NORMAL = 1
export const TOKEN_TYPE_BYTE = 6

/** Stands for a space in the lists of SentencePiece and its kin. */
const ESCAPED_SPACE = '\u2581'

/** GPT-2's printable character for each byte, turned round. */
const BYTES: ReadonlyMap<string, number> = (() => {
  const printable = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
  let others = 0
  return new Map(
    Array.from({ length: 256 }, (_, byte): [string, number] => [
      String.fromCharCode(printable(byte) ? byte : 256 + others++),
      byte,
    ]),
  )
})()

/** Byte-level lists always have the character that stands for a space; the others have it escaped. */
export function writingOf(tokens: readonly string[]): TokenWriting {
  return tokens.includes('\u0120') ? 'byte-level' : 'escaped-spaces'
}

/**
 * The bytes that a generated token adds to the text, as llama.cpp's `llama_token_to_piece` has them. The engine's own `detokenize`
 * is not used for text: it removes spaces before punctuation for many models, which breaks code, and turns half characters into U+FFFD.
 * @param type token type of the GGUF file; tokens of other types than normal and byte stand for themselves
 */
export function tokenBytes(written: string, type: number, writing: TokenWriting): Uint8Array {
  if (type === TOKEN_TYPE_BYTE) return Uint8Array.of(Number.parseInt(written.slice(3, 5), 16))
  if (type !== TOKEN_TYPE_NORMAL) return Buffer.from(written, 'utf8')
  if (writing === 'escaped-spaces') return Buffer.from(written.replaceAll(ESCAPED_SPACE, ' '), 'utf8')
  const bytes = Array.from(written, (character) => BYTES.get(character))
  return bytes.includes(undefined) ? Buffer.from(written, 'utf8') : Uint8Array.from(bytes as number[])
}
