import { ModelyardError } from '../../base/errors.ts'
import type { GgufVocabulary } from '../../models/gguf/read-vocabulary.ts'
import { TURN_ENDS } from '../llama-cpp/turn-ends.ts'
import type { ServerConnection } from '../supervision/server-connection.ts'
import { requireTokenIds } from '../llama-cpp/require-token-ids.ts'

const TYPE_UNKNOWN = 2
const TYPE_CONTROL = 3
const TYPE_USER_DEFINED = 4
/** Texts whose tokens are remembered: marks of the template. */
const MOST_MARKS = 256

/** Texts that llama.cpp takes for the tokens around a gap where the file names none. */
const GAP_TEXTS: Record<GapPlace, readonly string[]> = {
  pre: '<|fim_prefix|> <fim-prefix> <fim_prefix> <｜fim▁begin｜> <PRE> ▁<PRE> <|code_prefix|>'.split(' '),
  suf: '<|fim_suffix|> <fim-suffix> <fim_suffix> <｜fim▁hole｜> <SUF> ▁<SUF> <|code_suffix|>'.split(' '),
  mid: '<|fim_middle|> <fim-middle> <fim_middle> <｜fim▁end｜> <MID> ▁<MID> <|code_middle|>'.split(' '),
}
const OTHER_NAMES: Record<GapPlace, string> = { pre: 'prefix', suf: 'suffix', mid: 'middle' }
type GapPlace = 'pre' | 'suf' | 'mid'

/** Texts that are worth noting while the file is read, beside tokens of a special type. */
export function isNotedText(text: string): boolean {
  return TURN_ENDS.has(text) || NOTED.has(text)
}
const NOTED = new Set(Object.values(GAP_TEXTS).flat())

/** A prompt as `/completion` takes it: text, whose control tokens count as such, and tokens. */
export type WirePrompt = string | (number | string)[]

/** The tokens of a loaded model: which are no text, asked of its file; the rest is asked of its server. */
export class Vocabulary {
  /** Texts that the tokenizer turns into tokens that are no text (P15). */
  readonly controlTexts: readonly string[]
  /** Those of them that end a turn. */
  readonly endTexts: readonly string[]
  /** Texts that the tokenizer keeps whole wherever they stand. */
  readonly userDefinedTexts: readonly string[]
  readonly size: number
  readonly longestToken: number
  /** Ids and texts of tokens that are no text and do not end a turn either. */
  readonly silent: readonly { id: number; text: string }[]
  /** What an empty prompt becomes: a model needs something to begin with. */
  readonly firstToken: number | undefined
  readonly #connection: ServerConnection
  readonly #gaps: Partial<Record<GapPlace, number>>
  readonly #control: ReadonlySet<number>
  readonly #marks = new Map<string, Promise<number[]>>()
  readonly #borders: Borders
  /** What the tokenizer puts before a prompt. */
  readonly #beginning: readonly number[]
  readonly #beginningText: string | undefined

  private constructor(
    vocabulary: GgufVocabulary,
    connection: ServerConnection,
    {
      borders,
      beginning,
    }: { borders: Borders; beginning: { ids: readonly number[]; text: string | undefined } },
  ) {
    const { noted, ids } = vocabulary
    const ends = new Set([ids['eos'], ids['eot'], ids['eom']])
    const isEnd = ({ id, text }: { id: number; text: string }): boolean => ends.has(id) || TURN_ENDS.has(text)
    const control = noted.filter(
      (token) => token.type === TYPE_CONTROL || token.type === TYPE_UNKNOWN || isEnd(token),
    )
    this.#connection = connection
    this.#control = new Set(control.map(({ id }) => id))
    this.controlTexts = control.map(({ text }) => text)
    this.endTexts = control.filter(isEnd).map(({ text }) => text)
    this.userDefinedTexts = noted
      .filter(({ id, type }) => type === TYPE_USER_DEFINED && !this.#control.has(id))
      .map(({ text }) => text)
    this.silent = control.filter((token) => !isEnd(token))
    this.size = vocabulary.size
    this.longestToken = vocabulary.longestToken
    this.#gaps = gapsOf(vocabulary)
    this.#borders = borders
    this.firstToken = beginning.ids[0] ?? ids['bos'] ?? ids['eos']
    this.#beginning = beginning.ids
    this.#beginningText = beginning.text
  }

  /** @param addsBos whether texts get a token before them, and which @param bosText as the template writes it */
  static async open(
    vocabulary: GgufVocabulary,
    connection: ServerConnection,
    { addsBos, bosText }: { addsBos: boolean; bosText: string | undefined },
  ): Promise<Vocabulary> {
    const borders = bordersIn(await tokenize(connection, '', { add_special: true }), addsBos)
    const ids = borders.before === undefined ? [] : [borders.before]
    return new Vocabulary(vocabulary, connection, { borders, beginning: { ids, text: bosText } })
  }

  /** Pieces of a template as a prompt, each with its control tokens; nothing is asked for the usual one. */
  async promptOf(pieces: readonly string[], after: readonly number[] = []): Promise<WirePrompt> {
    const [first = '', ...others] = this.#withoutBeginning(pieces)
    const begun = [
      ...this.#beginning,
      ...(first === '' ? [] : [first]),
      ...others.filter((text) => text !== ''),
    ]
    const whole = [...begun, ...after]
    const texts = whole.filter((item) => typeof item === 'string').length
    // A list is one prompt only where it has a number in it; else it is several.
    if (texts === whole.length && texts > 1) {
      const ids = await Promise.all(begun.map((text) => this.tokensOf(String(text))))
      return [...ids.flat(), ...after]
    }
    return texts === 1 && whole.length === 1 ? String(whole[0]) : whole
  }

  /** The prompt as one text, for what can be sent in no other way; its beginning is added by the server. */
  textOf(pieces: readonly string[]): string {
    return this.#withoutBeginning(pieces).join('')
  }

  /** Exact number of its tokens. */
  async count(prompt: WirePrompt, signal?: AbortSignal): Promise<number> {
    if (typeof prompt !== 'string' && prompt.every((item) => typeof item === 'number')) return prompt.length
    return (await tokenize(this.#connection, prompt, { parse_special: true }, signal)).length
  }

  /** A text with its control tokens recognised, as in the middle of a prompt. */
  async tokensOf(text: string): Promise<number[]> {
    return await tokenize(this.#connection, text, { parse_special: true })
  }

  /** A mark of the template; asked for once. */
  async markTokens(text: string): Promise<number[]> {
    const known = this.#marks.get(text)
    if (known !== undefined) return await known
    const asked = this.tokensOf(text)
    if (this.#marks.size < MOST_MARKS) this.#marks.set(text, asked)
    asked.catch(() => this.#marks.delete(text))
    return await asked
  }

  /** Text of users that is nothing but text, with what the model was trained to see around a single text. */
  async textWithBorders(text: string, signal?: AbortSignal): Promise<number[]> {
    return await tokenize(this.#connection, text, { add_special: true, parse_special: false }, signal)
  }

  /** Tokens of a text, with what the model was trained to see around it. */
  tokensWithBorders(tokens: readonly number[]): number[] {
    const { before, after } = this.#borders
    const begun = before === undefined || tokens[0] === before ? tokens : [before, ...tokens]
    return after === undefined || begun.at(-1) === after ? [...begun] : [...begun, after]
  }

  /** Whether the model knows what a gap is. */
  get fillsGaps(): boolean {
    const { pre, suf, mid } = this.#gaps
    return pre !== undefined && suf !== undefined && mid !== undefined
  }

  /** Prompt for infilling: what comes before and after the gap, and the sign to begin. @throws unsupported */
  async infillPrompt(before: string, after: string): Promise<number[]> {
    const { pre, suf, mid } = this.#gaps
    if (pre === undefined || suf === undefined || mid === undefined) {
      const message =
        'This model cannot fill gaps: it has no tokens for prefix, suffix and middle. Leave out "suffix".'
      throw new ModelyardError('unsupported', message, { details: { param: 'suffix' } })
    }
    const plain = { parse_special: false }
    const [first, second] = await Promise.all([
      tokenize(this.#connection, before, plain),
      tokenize(this.#connection, after, plain),
    ])
    return [...this.#beginning, pre, ...first, suf, ...second, mid]
  }

  /** Text of tokens, control tokens left out. */
  async textOfTokens(tokens: readonly number[]): Promise<string> {
    const shown = tokens.filter((token) => !this.#control.has(token))
    const { content = '' } = (await this.#connection.json('/detokenize', { tokens: shown })) as {
      content?: string
    }
    return content
  }

  /** @throws invalid_request for ids that are not in the vocabulary */
  requireTokens(ids: readonly number[], param: string): void {
    requireTokenIds(ids, this.size, param)
  }

  /** The first token of every text is ours to add; a template that writes it as text would have it twice. */
  #withoutBeginning(pieces: readonly string[]): readonly string[] {
    const [first = '', ...others] = pieces
    const text = this.#beginningText
    if (this.#beginning.length === 0 || text === undefined || text === '' || !first.startsWith(text))
      return pieces
    return [first.slice(text.length), ...others]
  }
}

/** What stands around a single text. */
interface Borders {
  before: number | undefined
  after: number | undefined
}

/** Judged from an empty text with all that is added to it: one token is the first or the last, two are both. */
function bordersIn(tokens: readonly number[], addsBos: boolean): Borders {
  if (tokens.length >= 2) return { before: tokens[0], after: tokens[1] }
  return addsBos ? { before: tokens[0], after: undefined } : { before: undefined, after: tokens[0] }
}

function gapsOf({ ids, noted }: GgufVocabulary): Partial<Record<GapPlace, number>> {
  const gaps: Partial<Record<GapPlace, number>> = {}
  for (const place of ['pre', 'suf', 'mid'] as const) {
    const byText = noted.find(({ text }) => GAP_TEXTS[place].includes(text))?.id
    const id = ids[`fim_${place}`] ?? ids[OTHER_NAMES[place]] ?? byText
    if (id !== undefined) gaps[place] = id
  }
  return gaps
}

async function tokenize(
  connection: ServerConnection,
  content: WirePrompt,
  how: { add_special?: boolean; parse_special?: boolean },
  signal?: AbortSignal,
): Promise<number[]> {
  const body = { content, add_special: false, parse_special: true, ...how }
  const { tokens } = (await connection.json('/tokenize', body, signal)) as { tokens?: unknown }
  if (Array.isArray(tokens)) return tokens as number[]
  throw new ModelyardError('engine_failed', 'The llama-server worker counted no tokens.')
}
