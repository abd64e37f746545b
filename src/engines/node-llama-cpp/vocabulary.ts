import { ModelyardError } from '../../base/errors.ts'
import { TURN_ENDS } from '../llama-cpp/turn-ends.ts'
import type { LlamaModel } from './llama-module.ts'
import { PromptPortions } from './prompt-portions.ts'
import {
  TOKEN_TYPE_BYTE,
  TOKEN_TYPE_NORMAL,
  tokenBytes,
  writingOf,
  type TokenWriting,
} from './token-bytes.ts'
import { requireTokenIds } from '../llama-cpp/require-token-ids.ts'

const TOKEN_TYPE_USER_DEFINED = 4
const TOKEN_TYPE_UNUSED = 5
const NOTHING = new Uint8Array()

/** The tokens of a loaded model: what text they stand for, and which of them are not text. */
export class Vocabulary {
  /** Texts that the tokenizer turns into tokens that are no text (P15). */
  readonly controlTexts: readonly string[]
  /** Those of them that end a turn. */
  readonly endTexts: readonly string[]
  /** Texts that the tokenizer keeps whole wherever they stand; they are text, but some are marks of a template. */
  readonly userDefinedTexts: readonly string[]
  readonly #model: LlamaModel
  readonly #tokens: readonly string[]
  readonly #types: readonly number[]
  readonly #writing: TokenWriting
  readonly #bytes: (Uint8Array | undefined)[] = []
  readonly #control: Set<number>
  readonly #portions: PromptPortions
  #longest: number | undefined
  #silent: readonly number[] | undefined

  constructor(model: LlamaModel) {
    this.#model = model
    const { tokens = [], token_type: types = [] } = model.fileInfo.metadata.tokenizer?.ggml ?? {}
    this.#tokens = tokens
    this.#types = types
    this.#writing = writingOf(tokens)
    this.#control = new Set(Array.from(tokens.keys()).filter((token) => this.#isControl(token)))
    const text = (token: number): string => this.#tokens[token] ?? ''
    this.controlTexts = [...this.#control].map(text)
    this.#portions = new PromptPortions(this.controlTexts)
    this.userDefinedTexts = tokens.filter(
      (_, token) => types[token] === TOKEN_TYPE_USER_DEFINED && !this.#control.has(token),
    )
    this.endTexts = [...this.#control].filter((token) => model.isEogToken(token)).map(text)
  }

  /** Those that are no text and do not end a turn either. */
  get silentTokens(): readonly number[] {
    this.#silent ??= [...this.#control].filter((token) => !this.#model.isEogToken(token))
    return this.#silent
  }

  get size(): number {
    return this.#tokens.length
  }

  /** Bytes of the longest token's text, as the file writes it: never less than what it stands for. */
  get longestToken(): number {
    this.#longest ??= this.#tokens.reduce((most, text) => Math.max(most, Buffer.byteLength(text)), 1)
    return this.#longest
  }

  get bosText(): string | undefined {
    return this.#model.tokens.bosString ?? undefined
  }

  get eosText(): string | undefined {
    return this.#model.tokens.eosString ?? undefined
  }

  /** Bytes that the token adds to an answer; none for control tokens. */
  bytesOf(token: number): Uint8Array {
    return (this.#bytes[token] ??= this.#control.has(token)
      ? NOTHING
      : tokenBytes(this.#tokens[token] ?? '', this.#types[token] ?? TOKEN_TYPE_NORMAL, this.#writing))
  }

  /** The text of a control token; undefined for all others. */
  controlTextOf(token: number): string | undefined {
    return this.#control.has(token) ? this.#tokens[token] : undefined
  }

  /** Text whose control tokens count as such: a template's piece, or a prompt that somebody rendered himself. */
  tokenizePrompt(pieces: readonly string[]): number[] {
    const inner = this.#model.vocabularyType === 'spm' ? ('trimLeadingSpace' as const) : undefined
    const tokens = pieces.flatMap((piece, index) => {
      const [first = '', ...others] = this.#portions.of(piece)
      const begun = this.#model.tokenize(first, true, index === 0 ? undefined : inner)
      return [begun, ...others.map((portion) => this.#model.tokenize(portion, true))]
    })
    return this.#withBeginning(tokens.flat())
  }

  /** A mark of the template by itself. */
  tokenizeMark(text: string): number[] {
    const inner = this.#model.vocabularyType === 'spm' ? ('trimLeadingSpace' as const) : undefined
    return this.#model.tokenize(text, true, inner)
  }

  /** Text of users that is nothing but text. */
  tokenizeText(text: string): number[] {
    return this.#model.tokenize(text, false)
  }

  /** Whatever the model was trained to see around a single text. llama.cpp's rules; the engine's own forget some. */
  withBorders(tokens: readonly number[]): number[] {
    const { vocabularyType, tokens: special } = this.#model
    const isBert = vocabularyType === 'wpm'
    const beginning = isBert || special.shouldPrependBosToken ? special.bos : null
    const end = isBert ? special.sep : special.shouldAppendEosToken ? special.eos : null
    const bordered = [...tokens]
    if (beginning !== null && bordered[0] !== beginning) bordered.unshift(beginning)
    if (end !== null && bordered.at(-1) !== end) bordered.push(end)
    return bordered
  }

  /** Whether the model knows what a gap is. */
  get fillsGaps(): boolean {
    const { prefix, suffix, middle } = this.#model.tokens.infill
    return prefix !== null && suffix !== null && middle !== null
  }

  /** Prompt for infilling: what comes before and after the gap, and the sign to begin. @throws unsupported */
  infillPrompt(before: string, after: string): number[] {
    const { prefix, suffix, middle } = this.#model.tokens.infill
    if (prefix === null || suffix === null || middle === null) {
      const message =
        'This model cannot fill gaps: it has no tokens for prefix, suffix and middle. Leave out "suffix".'
      throw new ModelyardError('unsupported', message, { details: { param: 'suffix' } })
    }
    const tokens = [prefix, ...this.tokenizeText(before), suffix, ...this.tokenizeText(after), middle]
    return this.#withBeginning(tokens)
  }

  /** An id that is not in the vocabulary would end the process. @throws invalid_request */
  requireTokens(ids: readonly number[], param: string): void {
    requireTokenIds(ids, this.size, param)
  }

  /** What an empty prompt becomes: a model needs something to begin with. */
  emptyPrompt(): number[] {
    const { bos, eos } = this.#model.tokens
    const token = bos ?? eos
    return token === null ? [] : [token]
  }

  #withBeginning(tokens: number[]): number[] {
    const { bos, shouldPrependBosToken } = this.#model.tokens
    return bos === null || !shouldPrependBosToken || tokens[0] === bos ? tokens : [bos, ...tokens]
  }

  /** Asking the engine about each of 150,000 tokens takes half a second, so only those are asked about that may be. */
  #isControl(token: number): boolean {
    const type = this.#types[token]
    const plain = type === TOKEN_TYPE_NORMAL || type === TOKEN_TYPE_BYTE || type === TOKEN_TYPE_UNUSED
    if (plain && !TURN_ENDS.has(this.#tokens[token] ?? '')) return false
    const { control, unknown } = this.#model.getTokenAttributes(token)
    return control || unknown || this.#model.isEogToken(token)
  }
}
