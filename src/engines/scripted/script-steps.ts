import { ModelyardError } from '../../base/errors.ts'
import { TokenTextDecoder } from '../../templates/text-decoder.ts'
import type { PromptLogprob, TokenLogprob } from '../../tasks/part.ts'
import type { ScriptEntry, ScriptPiece, ScriptToolCall } from './scripted-options.ts'

/** One token of an answer, ready to be played: nothing is decoded or matched again while it runs. */
export type Step =
  /** `shown` is the text that is whole with this token: empty while a character is incomplete (BR-02). */
  | { kind: 'text'; delay: number; shown: string; token: ScriptToken }
  | { kind: 'reasoning'; delay: number; shown: string }
  | { kind: 'call'; delay: number; index: number; id: string | undefined; name: string }
  | { kind: 'call-arguments'; delay: number; index: number; text: string }

export interface ScriptToken {
  bytes: Uint8Array
  logprob: number
  top: readonly { text: string; logprob: number }[] | undefined
}

/** Words with the space before them: `"one two"` → `"one"`, `" two"`. */
function wordPieces(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+|\s+$/g) ?? []
}

type FullPiece = Exclude<ScriptPiece, string>

function piecesOf(pieces: string | readonly ScriptPiece[] | undefined): FullPiece[] {
  if (pieces === undefined) return []
  const list = typeof pieces === 'string' ? wordPieces(pieces) : pieces
  return list.map((piece) => (typeof piece === 'string' ? { text: piece } : piece))
}

function textPieces(entry: ScriptEntry): FullPiece[] {
  const pieces = piecesOf(entry.text)
  const repeated = Array.from({ length: entry.repeat ?? 1 }, () => pieces).flat()
  return repeated.map((piece, index) => {
    const logprob = piece.logprob ?? entry.logprobs?.[index]
    return logprob === undefined ? piece : { ...piece, logprob }
  })
}

function reasoningPieces(entry: ScriptEntry): FullPiece[] {
  return piecesOf(entry.reasoning).map(({ text, ...rest }) =>
    text === undefined ? rest : { ...rest, reasoning: text },
  )
}

/** All tokens of an entry in order. @throws ModelyardError `config_invalid` for a text with half a character */
export function compileSteps(entry: ScriptEntry, index: number): Step[] {
  const pieces = [
    ...reasoningPieces(entry),
    ...textPieces(entry),
    ...(entry.toolCalls ?? []).map((toolCall) => ({ toolCall })),
    ...piecesOf(entry.parts),
  ]
  const compiler = new StepCompiler(entry.delay ?? 0, `script[${index}]`)
  for (const piece of pieces) compiler.add(piece)
  const steps = compiler.steps
  const [first] = steps
  if (first !== undefined && entry.firstDelay !== undefined) first.delay = entry.firstDelay
  return steps
}

class StepCompiler {
  readonly steps: Step[] = []
  readonly #delay: number
  readonly #where: string
  readonly #decoder = new TokenTextDecoder()
  #calls = 0

  constructor(delay: number, where: string) {
    this.#delay = delay
    this.#where = where
  }

  add(piece: FullPiece): void {
    const delay = piece.delay ?? this.#delay
    if (piece.toolCall !== undefined) this.#addCall(piece.toolCall, delay)
    else if (piece.reasoning !== undefined) {
      this.steps.push({ kind: 'reasoning', delay, shown: this.#whole(piece.reasoning) })
    } else this.#addText(piece, delay)
  }

  #addText(piece: FullPiece, delay: number): void {
    const bytes = this.#bytesOf(piece)
    const shown = this.#decoder.write(bytes)
    const token = { bytes, logprob: piece.logprob ?? DEFAULT_LOGPROB, top: piece.top }
    this.steps.push({ kind: 'text', delay, shown, token })
  }

  #addCall({ id, name, arguments: given = {} }: ScriptToolCall, delay: number): void {
    const index = this.#calls++
    this.steps.push({ kind: 'call', delay, index, id, name })
    for (const text of argumentFragments(given))
      this.steps.push({ kind: 'call-arguments', delay, index, text })
  }

  #bytesOf({ text, bytes, hex }: FullPiece): Uint8Array {
    if (bytes !== undefined) return Uint8Array.from(bytes)
    if (hex !== undefined) return Buffer.from(hex.replaceAll(/\s/g, ''), 'hex')
    return Buffer.from(this.#whole(text ?? ''), 'utf8')
  }

  #whole(text: string): string {
    if (!/\p{Cs}/u.test(text)) return text
    const message = `${this.#where} has a text with half a character; write its bytes instead.`
    throw new ModelyardError('config_invalid', message)
  }
}

function argumentFragments(given: string | string[] | Record<string, unknown>): string[] {
  if (typeof given === 'string') return [given]
  return Array.isArray(given) ? given : [JSON.stringify(given)]
}

const DEFAULT_LOGPROB = -0.25
/** Alternatives made up where the script names none; the APIs allow at most 20. */
const ALTERNATIVES = 20

/** A token as the task asks for it: with `count` alternatives, the token itself first unless the script says otherwise. */
export function tokenLogprob({ bytes, logprob, top }: ScriptToken, count: number): TokenLogprob {
  const own = { text: Buffer.from(bytes).toString('utf8'), bytes: [...bytes], logprob }
  const others = (top ?? madeUpAlternatives(logprob)).map((other) => ({
    ...other,
    bytes: [...Buffer.from(other.text, 'utf8')],
  }))
  const named = others.some((other) => other.text === own.text)
  return { ...own, top: (named ? others : [own, ...others]).slice(0, count) }
}

function madeUpAlternatives(logprob: number): { text: string; logprob: number }[] {
  return Array.from({ length: ALTERNATIVES }, (_, index) => ({
    text: `alternative-${index + 1}`,
    logprob: logprob - index - 1,
  }))
}

/** Steps that say a text word by word, with the delays of the entry. */
export function textSteps(
  text: string,
  { delay, firstDelay }: { delay: number; firstDelay: number },
): Step[] {
  return wordPieces(text).map((shown, index) => ({
    kind: 'text',
    delay: index === 0 ? firstDelay : delay,
    shown,
    token: { bytes: Buffer.from(shown, 'utf8'), logprob: DEFAULT_LOGPROB, top: undefined },
  }))
}

/** What is said of a prompt's words: −0.5, −1, −1.5 … after the first. */
export function promptLogprobs(text: string): PromptLogprob[] {
  return wordPieces(text).map((word, index) => {
    const bytes = Buffer.from(word, 'utf8')
    const own = { text: word, bytes: [...bytes] }
    if (index === 0) return { ...own, logprob: null, top: [] }
    return { ...own, logprob: -index / 2, top: [{ ...own, logprob: -index / 2 }] }
  })
}
