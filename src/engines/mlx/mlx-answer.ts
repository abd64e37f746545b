import { ModelyardError } from '../../base/errors.ts'
import type { Part, TokenLogprob } from '../../tasks/part.ts'
import type { AnswerReader } from '../llama-cpp/answer-reader.ts'
import type { FormKeeper, Verdict } from './form-keeper.ts'
import { withForbidden, type MlxSampling } from './mlx-request.ts'
import type { MlxHost } from './mlx-host.ts'
import type { WirePictures } from './mlx-pictures.ts'
import { readLines, type WireLine } from './read-lines.ts'

/** Why the model stopped writing; `again` = it has to go on from what was taken. */
export type StretchEnd = 'stop' | 'length' | 'stop-sequence' | 'changed' | 'again'

export interface MlxAnswerOptions {
  host: MlxHost
  prompt: readonly number[]
  /** Images of the prompt; undefined = there are none. */
  pictures: WirePictures | undefined
  sampling: MlxSampling
  reader: AnswerReader
  /** Whether a control token's text is one of the marks that the reader knows. */
  shows: (text: string) => boolean
  /** Alternatives that are told with each token; undefined = no log-probabilities. */
  alternatives: number | undefined
  /** Most tokens of the answer. */
  room: number
  reuse: boolean
  /** The prompt ends within a text. */
  continues: boolean
  signal: AbortSignal
}

/** Enough to find a token that fits. */
const ALTERNATIVES_OF_FORMS = 20

/** The requests of one answer as one stream of parts: each goes on from the tokens that were taken. */
export class MlxAnswer {
  /** Tokens of the prompt that were there already; undefined before the first answer. */
  cachedTokens: number | undefined
  readonly #options: MlxAnswerOptions
  readonly #taken: number[] = []
  /** Tokens that a form lets the model write before it is looked at: twice as many after each time that all fitted. */
  #steps = 1

  constructor(options: MlxAnswerOptions) {
    this.#options = options
  }

  get madeTokens(): number {
    return this.#taken.length
  }

  get isFull(): boolean {
    return this.#taken.length >= this.#options.room
  }

  /** Puts a text into the answer as if the model had written it, as far as there is room. */
  async say(text: string): Promise<Part[]> {
    const { host, room, signal, reader } = this.#options
    const tokens = await host.vocabulary.tokensOf([text], false, signal)
    const said = tokens.slice(0, room - this.#taken.length)
    const shown = said.length === tokens.length ? text : await host.vocabulary.textOf(said, signal)
    this.#taken.push(...said)
    return reader.add({ text: shown, tokens: said.length })
  }

  /** Has the model write on. `until` is asked after each token. */
  async *stretch(
    keeper: FormKeeper | undefined,
    until: () => boolean,
  ): AsyncGenerator<Part, StretchEnd, void> {
    if (this.isFull) return 'length'
    const request = new AbortController()
    const signal = AbortSignal.any([request.signal, this.#options.signal])
    try {
      const body = await this.#options.host.connection.open('/generate', this.#body(keeper), signal)
      return yield* this.#read(body, keeper, until)
    } finally {
      request.abort() // The worker stops when nobody reads.
    }
  }

  async *#read(
    body: AsyncIterable<Buffer>,
    keeper: FormKeeper | undefined,
    until: () => boolean,
  ): AsyncGenerator<Part, StretchEnd, void> {
    let pending: WireLine[] = []
    for await (const line of readLines(body)) {
      this.#options.host.moved()
      if (line.error !== undefined) throw failedThere(line.error)
      if (line.cached !== undefined) this.cachedTokens ??= line.cached
      if (line.id === undefined) continue
      const isEnd = line.end === 'stop'
      if (isEnd && (keeper === undefined || keeper.mayEnd)) {
        yield* this.#take(pending, this.#textOf(line))
        return 'stop'
      }
      pending.push(line)
      const text = isEnd ? '' : this.#textOf(line)
      // Parts of a character have no text yet; the last of them has it all.
      if (text === '' && !isEnd && line.end !== 'length' && !this.#isSilent(line)) continue
      const verdict = keeper?.judge(text, pending[0] ?? line) ?? 'taken'
      if (verdict !== 'taken') {
        this.#steps = 1
        return (yield* this.#replace(verdict)) ? (this.#endAfterToken(keeper, until) ?? 'again') : 'again'
      }
      yield* this.#take(pending, text)
      pending = []
      const end = this.#endAfterToken(keeper, until)
      if (end !== undefined) return end
      if (keeper !== undefined && line.end === 'length') {
        this.#steps *= 2
        return 'again'
      }
    }
    throw incomplete()
  }

  /** @returns whether anything was taken */
  async *#replace(verdict: Exclude<Verdict, 'taken'>): AsyncGenerator<Part, boolean, void> {
    if (verdict === 'again') return false
    if ('say' in verdict) yield* await this.say(verdict.say)
    else {
      const { id, text, logprob } = verdict.instead
      yield* this.#take([{ id, logprob }], text)
    }
    return true
  }

  #endAfterToken(keeper: FormKeeper | undefined, until: () => boolean): StretchEnd | undefined {
    const { reader } = this.#options
    if (reader.stoppedBy !== undefined) return 'stop-sequence'
    if (reader.isDone || keeper?.isComplete === true) return 'stop'
    if (until()) return 'changed'
    return this.isFull ? 'length' : undefined
  }

  *#take(lines: readonly WireLine[], text: string): Generator<Part, void, void> {
    const { reader, alternatives } = this.#options
    for (const { id } of lines) if (id !== undefined) this.#taken.push(id)
    const logprobs =
      alternatives === undefined ? [] : lines.map((line) => logprobOf(line, text, alternatives))
    yield* reader.add({ text, tokens: lines.length, logprobs })
  }

  /** Control tokens have no text, but some are marks of calls and reasoning. */
  #textOf({ id = -1, text = '' }: WireLine): string {
    const control = this.#options.host.vocabulary.controlById.get(id)
    if (control === undefined || this.#options.shows(control) || !text.endsWith(control)) return text
    return text.slice(0, -control.length)
  }

  #isSilent({ id = -1 }: WireLine): boolean {
    return this.#options.host.vocabulary.controlById.has(id)
  }

  #body(keeper: FormKeeper | undefined): Record<string, unknown> {
    const { host, prompt, pictures, sampling, alternatives = 0, room, reuse } = this.#options
    const left = room - this.#taken.length
    return {
      ...withForbidden(sampling, keeper?.forbidden ?? []),
      prompt: [...prompt, ...this.#taken],
      ...(pictures !== undefined && { pictures }),
      maxTokens: keeper === undefined ? left : Math.min(left, this.#steps),
      continues: this.#taken.length > 0 || this.#options.continues,
      alternatives: keeper === undefined ? alternatives : Math.max(alternatives, ALTERNATIVES_OF_FORMS),
      draftTokens: host.draftTokens,
      // What this answer has written itself is always kept.
      reuse: reuse || this.cachedTokens !== undefined,
    }
  }
}

function logprobOf(
  { text = '', logprob = 0, top = [] }: WireLine,
  shown: string,
  most: number,
): TokenLogprob {
  const own = text === '' ? shown : text
  return {
    text: own,
    bytes: [...Buffer.from(own)],
    logprob,
    top: top
      .toSorted((a, b) => b[2] - a[2])
      .slice(0, most)
      .map(([, other, value]) => ({ text: other, bytes: [...Buffer.from(other)], logprob: value })),
  }
}

function failedThere(reason: string): ModelyardError {
  return new ModelyardError('engine_failed', `The mlx worker failed: ${reason}`)
}

/** R12: without its last token no answer is complete. */
function incomplete(): ModelyardError {
  return new ModelyardError('engine_failed', 'The mlx worker ended its answer before it was complete.')
}
