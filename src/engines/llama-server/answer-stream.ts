import { onAbort } from '../../base/abort.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { Part, TokenLogprob } from '../../tasks/part.ts'
import type { AnswerPlan } from './answer-plan.ts'
import { withGrammar, type SamplingFields } from './completion-body.ts'
import type { Prompt } from './prompt.ts'
import { readTokens, tokenLogprobs, type WireToken } from './read-tokens.ts'
import type { TextHost } from './text-host.ts'

/** Why a stretch ended; `changed` = `until` said so. */
export type StreamEnd = 'stop' | 'length' | 'stop-sequence' | 'changed'

export interface AnswerStreamOptions {
  host: TextHost
  prompt: Prompt
  answer: AnswerPlan
  fields: SamplingFields
  /** Alternatives that are told with each token's log-probability. */
  alternatives: number
  maxTokens: number | undefined
  slot: number
  keptPrefix: number
  signal: AbortSignal
  /** Text of the prompt that the answer begins with. */
  echo?: string
  /** @throws context_length_exceeded */
  requireRoom: (promptTokens: number) => void
}

export interface Stretch {
  /** Whether the answer's grammar holds here. */
  isChecked: boolean
  /** Asked after each token. */
  until: () => boolean
}

/** Events without text: a token that is none, or the first bytes of a character. They count when another event follows. */
interface Held {
  tokens: number
  logprobs: TokenLogprob[]
}

/** The requests of one answer, one after the other on one slot, as one stream of parts. */
export class AnswerStream {
  promptTokens = 0
  cachedTokens = 0
  /** Tokens of the answer, those included that were said for the model. */
  madeTokens = 0
  /** When the first token came, on the clock of the host. */
  answeringSince: number | undefined
  readonly #options: AnswerStreamOptions
  /** What was said for the model and has not been shown yet. */
  readonly #unshown: Part[] = []
  /** Tokens of the answer, or text where some of them are not known; the next request goes on from there. */
  readonly #written: (number | string)[] = []
  #writtenText = ''
  #saidTokens = 0
  #isKnown = false

  constructor(options: AnswerStreamOptions) {
    this.#options = options
  }

  /**
   * Puts a text into the answer as if the model had written it, as far as it may be that long.
   * @param thought as much of its beginning as still belongs to the reasoning
   */
  async say(text: string, thought: string = text): Promise<void> {
    const { host, answer } = this.#options
    const tokens = await host.vocabulary.markTokens(text)
    const room = this.#room()
    const said = tokens.slice(0, room)
    const shown = said.length === tokens.length ? text : await host.vocabulary.textOfTokens(said)
    this.#written.push(...said)
    this.#writtenText += shown
    this.madeTokens += said.length
    if (!this.#isKnown) this.#saidTokens += said.length
    const thinking = Math.min(said.length, (await host.vocabulary.markTokens(thought)).length)
    const rest = shown.slice(thought.length)
    this.#unshown.push(...answer.reader.add({ text: shown.slice(0, thought.length), tokens: thinking }))
    if (rest !== '') this.#unshown.push(...answer.reader.add({ text: rest, tokens: said.length - thinking }))
  }

  /** Has the model write on, until it ends, or something else is due. */
  async *stretch(stretch: Stretch): AsyncGenerator<Part, StreamEnd, void> {
    if (this.#isKnown && this.#room() <= 0) {
      yield* this.#unshown.splice(0)
      return 'length'
    }
    const request = new AbortController()
    const off = onAbort(this.#options.signal, () => request.abort(this.#options.signal.reason))
    try {
      const { connection } = this.#options.host
      const body = await connection.open('/completion', this.#body(stretch.isChecked), request.signal)
      return yield* this.#read(body, stretch)
    } finally {
      off()
      request.abort()
    }
  }

  async *#read(
    body: AsyncIterable<Buffer>,
    { isChecked, until }: Stretch,
  ): AsyncGenerator<Part, StreamEnd, void> {
    const { host, answer } = this.#options
    const check = isChecked ? answer.check : undefined
    let held: Held = { tokens: 0, logprobs: [] }
    let predicted = 0
    const before = this.madeTokens
    for await (const events of readTokens(body)) {
      host.moved()
      for (const event of events) {
        if (event.error !== undefined) throw failedThere(event.error.message)
        yield* this.#learn(event)
        if (event.prompt_progress !== undefined) {
          if (this.#room() > 0) continue
          return 'length'
        }
        if (event.stop === true) return this.#endOf(event, before, check)
        const { content = '', tokens_predicted: count = predicted + 1 } = event
        held.tokens += count - predicted
        held.logprobs.push(...tokenLogprobs(event, this.#options.alternatives))
        predicted = count
        this.#remember(event, held.tokens)
        if (content === '') continue
        const { tokens, logprobs } = held
        held = { tokens: 0, logprobs: [] }
        check?.follow(content)
        this.madeTokens += tokens
        yield* answer.reader.add({ text: content, tokens, logprobs })
        const ended = this.#endAfterToken(check?.isComplete === true, until)
        if (ended !== undefined) return ended
      }
    }
    throw incomplete()
  }

  #endAfterToken(isComplete: boolean, until: () => boolean): StreamEnd | undefined {
    const { reader } = this.#options.answer
    if (reader.stoppedBy !== undefined) return 'stop-sequence'
    if (reader.isDone || isComplete) return 'stop'
    if (until()) return 'changed'
    return this.#room() <= 0 ? 'length' : undefined
  }

  /** The last event; its word is final, because the server counts as we do. */
  #endOf(
    { stop_type: type, tokens_predicted: predicted = 0 }: WireToken,
    before: number,
    check: AnswerPlan['check'],
  ): StreamEnd {
    // Tokens without text came in no event; the one that ends a turn is none of the answer.
    const made = before + predicted - (type === 'eos' ? 1 : 0)
    if (this.#options.maxTokens !== 0) this.madeTokens = Math.max(this.madeTokens, made)
    if (type === 'limit') return 'length'
    check?.end()
    return 'stop'
  }

  /** The first event says how long the prompt is, and how much of it was there: what does not fit is refused now. */
  *#learn({
    prompt_progress: progress,
    tokens_evaluated: evaluated = 0,
    tokens_predicted: made = 0,
  }: WireToken): Generator<Part> {
    if (!this.#isKnown) {
      this.#isKnown = true
      this.promptTokens = (progress?.total ?? evaluated) - this.#saidTokens
      this.cachedTokens = Math.max(0, Math.min(progress?.cache ?? 0, this.promptTokens - 1))
      this.#options.requireRoom(this.promptTokens)
    }
    const isPrefill = progress !== undefined && made === 0 && this.#room() > 0
    if (isPrefill) return
    if (this.answeringSince === undefined) {
      this.answeringSince = this.#options.host.clock.now()
      yield { type: 'started', promptTokens: this.promptTokens, cachedTokens: this.cachedTokens }
      const { echo } = this.#options
      if (echo !== undefined && echo !== '') yield { type: 'text', text: echo }
    }
    yield* this.#unshown.splice(0)
  }

  /** Tokens that may still come; all, as long as the length of the prompt is not known. */
  #room(): number {
    const { maxTokens = Infinity, host } = this.#options
    const context = this.#isKnown ? host.plan.contextSize - this.promptTokens : Infinity
    return Math.min(maxTokens, context) - this.madeTokens
  }

  #remember({ tokens = [], content = '' }: WireToken, count: number): void {
    if (tokens.length === count) this.#written.push(...tokens)
    else this.#written.push(content)
    this.#writtenText += content
  }

  #body(isChecked: boolean): Record<string, unknown> {
    const { host, answer, fields, slot, keptPrefix } = this.#options
    const { check, marks, shows } = answer
    const room = this.#room()
    const held = isChecked && check !== undefined
    return {
      ...(held ? withGrammar(fields, check.gbnf, host.vocabulary, shows) : fields),
      prompt: this.#promptSoFar(),
      n_predict: room === Infinity ? -1 : Math.max(0, room),
      id_slot: slot,
      // What this answer has written itself is always kept.
      cache_prompt: keptPrefix > 0 || this.#isKnown,
      ...(marks.length > 0 && { preserved_tokens: marks }),
    }
  }

  #promptSoFar(): unknown {
    const { content } = this.#options.prompt
    if (this.#written.length === 0) return content
    if (typeof content === 'string') return [content, ...this.#written]
    if (Array.isArray(content)) return [...content, ...this.#written]
    return { ...content, prompt_string: content.prompt_string + this.#writtenText }
  }
}

function failedThere(message: string | undefined): ModelyardError {
  return new ModelyardError(
    'engine_failed',
    `The llama-server worker failed: ${message ?? 'no reason given'}`,
  )
}

/** R12: without its last event no answer is complete. */
function incomplete(): ModelyardError {
  return new ModelyardError(
    'engine_failed',
    'The llama-server worker ended its answer before it was complete.',
  )
}
