const TokenType = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const

export type TokenizerKind = 'bpe' | 'spm'

export interface TinyVocabulary {
  kind: TokenizerKind
  tokens: string[]
  types: number[]
  scores: number[]
  /** Plain text → id; bytes of 128 and more have none. */
  ids: Map<string, number>
  /** Byte → id of the token that is this byte alone. */
  byteIds: number[]
}

const CONTROL = [
  '<|endoftext|>',
  '<|im_start|>',
  '<|im_end|>',
  '<|fim_prefix|>',
  '<|fim_middle|>',
  '<|fim_suffix|>',
]
const WORDS = 'the and is of to in user assistant system tool model server true false null'
  .split(' ')
  .flatMap((word) => [word, ` ${word}`])

/** GPT-2's printable character for each byte. */
const BYTE_CHARACTERS: readonly string[] = (() => {
  const printable = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
  let others = 0
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(printable(byte) ? byte : 256 + others++),
  )
})()

class VocabularyBuilder {
  readonly vocabulary: TinyVocabulary

  constructor(kind: TokenizerKind) {
    this.vocabulary = { kind, tokens: [], types: [], scores: [], ids: new Map(), byteIds: [] }
  }

  add(written: string, type: keyof typeof TokenType, plain: string = written, score = 0): number {
    const { tokens, types, scores, ids } = this.vocabulary
    const known = ids.get(plain)
    if (known !== undefined) return known
    tokens.push(written)
    types.push(TokenType[type])
    scores.push(score)
    ids.set(plain, tokens.length - 1)
    return tokens.length - 1
  }
}

function addBytes(builder: VocabularyBuilder): void {
  const { kind, byteIds } = builder.vocabulary
  if (kind === 'bpe') {
    BYTE_CHARACTERS.forEach((character, byte) => {
      const plain = byte < 128 ? String.fromCharCode(byte) : `\u0000byte${byte}`
      byteIds.push(builder.add(character, 'normal', plain))
    })
    return
  }
  builder.add('<unk>', 'unknown')
  builder.add('<s>', 'control')
  builder.add('</s>', 'control')
  for (let byte = 0; byte < 256; byte++) {
    byteIds.push(builder.add(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`, 'byte'))
  }
  for (let code = 32; code < 127; code++) {
    const character = String.fromCharCode(code)
    builder.add(character.replace(' ', '\u2581'), 'normal', character, -1000 - code)
  }
}

/**
 * All bytes, the control tokens of ChatML and infill, some words, and `pieces`. Pieces and words are user-defined tokens: matched
 * whole when text is tokenized again, without merges.
 */
export function tinyVocabulary(options: {
  kind: TokenizerKind
  pieces: readonly string[]
  /** Filled up to this many tokens. */
  size: number
}): TinyVocabulary {
  const builder = new VocabularyBuilder(options.kind)
  addBytes(builder)
  for (const text of CONTROL) builder.add(text, 'control')
  for (const text of [...options.pieces, ...WORDS]) builder.add(text, 'userDefined')
  const { vocabulary } = builder
  while (vocabulary.tokens.length < options.size) builder.add(`[PAD${vocabulary.tokens.length}]`, 'unused')
  return vocabulary
}

/** @throws when there is no such token */
export function tokenId(vocabulary: TinyVocabulary, text: string | number): number {
  if (typeof text === 'number') return vocabulary.byteIds[text] ?? fail(text)
  if (vocabulary.kind === 'spm' && text === '\n') return vocabulary.byteIds[10] ?? fail(text)
  return vocabulary.ids.get(text) ?? fail(text)
}

function fail(text: string | number): never {
  throw new Error(`The vocabulary has no token for ${JSON.stringify(text)}.`)
}
