import { ModelyardError } from '../../base/errors.ts'
import type { FinishReason, Part, Result, TokenLogprob } from '../../tasks/part.ts'
import { NO_USAGE, type Usage } from '../../tasks/usage.ts'
import { WireCalls, type WireToolCall } from './wire-calls.ts'
import { textOf, toldText } from './wire-text.ts'

/** Whatever stands there is looked at before it is believed. */
interface WireUsage {
  prompt_tokens?: unknown
  completion_tokens?: unknown
  prompt_tokens_details?: { cached_tokens?: unknown } | null
  completion_tokens_details?: { reasoning_tokens?: unknown } | null
}

interface WireLogprob {
  token: string
  bytes?: number[] | null
  logprob: number
  top_logprobs?: WireLogprob[]
}

interface WireMessage {
  content?: unknown
  /** What it says instead of an answer (OpenAI). */
  refusal?: unknown
  reasoning_content?: unknown
  reasoning?: unknown
  tool_calls?: WireToolCall[] | null
}

interface WireChoice {
  index?: unknown
  text?: unknown
  logprobs?: { content?: WireLogprob[] | null } | null
  finish_reason?: string | null
}

/** What events and whole answers have in common; everything may be missing, or something else. */
interface WireTold {
  usage?: WireUsage | null
  error?: { message?: string } | string | null
  /** `error` at vLLM, with a message beside it. */
  object?: unknown
  message?: unknown
}

/** One event of a stream, as far as it is read. */
export interface WireChunk extends WireTold {
  choices?: (WireChoice & { delta?: WireMessage | null })[]
}

/** An answer in one piece. */
export interface WireDocument extends WireTold {
  choices?: (WireChoice & { message?: WireMessage })[]
}

/** Until the endpoint says it; some never do. */
export const UNKNOWN_USAGE: Usage = { ...NO_USAGE, unknown: true }

/** Of a server that was ended in the middle (vLLM), or failed. */
const BROKEN = new Set(['abort', 'error'])
const FINISHES: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ['length', 'length'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
])

/** Puts an answer together, the events of one stream or a whole one: parts as they come, and at the end what was counted. */
export class WireAnswer {
  #started = false
  #finish: FinishReason | undefined
  #usage: Usage = UNKNOWN_USAGE
  readonly #calls = new WireCalls()

  /** True when the reason of the end has come; a stream without one is broken (R12). */
  get complete(): boolean {
    return this.#finish !== undefined
  }

  /** @throws ModelyardError `engine_failed` for an error told inside the stream, and for what is none of OpenAI's language */
  read(chunk: WireChunk): Part[] {
    return understood(() => {
      const choice = chunk.choices?.find(isFirst)
      return this.#read(chunk, choice, choice?.delta ?? {})
    })
  }

  /** @throws ModelyardError `engine_failed` for an error that was sent as an answer */
  readWhole(document: WireDocument): Part[] {
    return understood(() => {
      const choice = document.choices?.find(isFirst)
      return this.#read(document, choice, numbered(choice?.message ?? {}))
    })
  }

  #read({ error, usage, ...told }: WireTold, choice: WireChoice | undefined, message: WireMessage): Part[] {
    if (error !== undefined && error !== null) throw failedThere(messageOf(error))
    if (told.object === 'error') throw failedThere(told.message)
    this.#count(usage)
    if (choice === undefined) return []
    const { finish_reason: finish } = choice
    if (typeof finish === 'string' && BROKEN.has(finish)) throw failedThere(`finish_reason "${finish}"`)
    // Some write an empty one as long as there is none: that ends nothing (R12).
    if (typeof finish === 'string' && finish !== '') this.#finish = FINISHES.get(finish) ?? 'stop'
    const { text, reasoning } = toldText(message.content ?? choice.text)
    const parts = [
      ...reasoningParts([reasoning, message.reasoning_content, message.reasoning]),
      ...textParts(text, choice.logprobs?.content ?? undefined),
      ...textParts(message.refusal, undefined),
      ...(message.tool_calls ?? []).flatMap((call) => this.#calls.read(call)),
    ]
    return parts.length > 0 || this.complete ? [...this.#start(), ...parts] : []
  }

  #count(usage: WireUsage | null | undefined): void {
    const counted = usageOf(usage ?? {})
    if (counted.unknown !== true) this.#usage = counted
  }

  result(timings: Result['timings']): Result {
    this.#calls.requireNames()
    return { finishReason: this.#finishReason, usage: this.#usage, timings }
  }

  /** A call is there to be answered, whatever the endpoint says: some end with `stop` all the same. */
  get #finishReason(): FinishReason {
    const finish = this.#finish ?? 'stop'
    return finish === 'stop' && this.#calls.count > 0 ? 'tool-calls' : finish
  }

  /** Most endpoints count the prompt only at the end: until then it is 0. */
  #start(): Part[] {
    if (this.#started) return []
    this.#started = true
    const { promptTokens, cachedTokens } = this.#usage
    return [{ type: 'started', promptTokens, cachedTokens }]
  }
}

/** A field of another kind than OpenAI's API has there, wherever it is, is the endpoint's fault. */
function understood(read: () => Part[]): Part[] {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new ModelyardError(
      'engine_failed',
      'The upstream sent something of another kind than OpenAI’s API has there; is its address the beginning of one?',
    )
  }
}

/** One answer was asked for: pieces of others that come with it are no part of it. */
function isFirst({ index }: WireChoice): boolean {
  return typeof index !== 'number' || index === 0
}

/** In a whole answer calls are told apart by their places. */
function numbered(message: WireMessage): WireMessage {
  const { tool_calls: calls } = message
  return calls === undefined || calls === null
    ? message
    : { ...message, tool_calls: calls.map((call, index) => ({ ...call, index })) }
}

/** The first that says something; others may stand beside it and be empty. */
function reasoningParts(said: readonly unknown[]): Part[] {
  const text = said.map((one) => textOf(one ?? '')).find((one) => one !== '')
  return text === undefined ? [] : [{ type: 'reasoning', text }]
}

function textParts(said: unknown, logprobs: WireLogprob[] | undefined): Part[] {
  if (said === undefined || said === null) return []
  const text = textOf(said)
  if (logprobs !== undefined && logprobs.length > 0) {
    return [{ type: 'text', text, logprobs: logprobs.map(tokenLogprob) }]
  }
  return text === '' ? [] : [{ type: 'text', text }]
}

function tokenLogprob({ token, bytes, logprob, top_logprobs: top = [] }: WireLogprob): TokenLogprob {
  return { text: token, bytes: bytes ?? [...Buffer.from(token)], logprob, top: top.map(alternative) }
}

function alternative({ token, bytes, logprob }: WireLogprob): TokenLogprob['top'][number] {
  return { text: token, bytes: bytes ?? [...Buffer.from(token)], logprob }
}

/** Counts that are none are unknown, not zero. */
export function usageOf(usage: WireUsage): Usage {
  if (!isCount(usage.prompt_tokens) && !isCount(usage.completion_tokens)) return UNKNOWN_USAGE
  return {
    promptTokens: countOf(usage.prompt_tokens),
    cachedTokens: countOf(usage.prompt_tokens_details?.cached_tokens),
    completionTokens: countOf(usage.completion_tokens),
    reasoningTokens: countOf(usage.completion_tokens_details?.reasoning_tokens),
  }
}

/** What is no count is none. */
function countOf(value: unknown): number {
  return isCount(value) ? value : 0
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function messageOf(error: { message?: unknown } | string): unknown {
  return typeof error === 'string' ? error : error.message
}

/** The endpoint's own words are shown: they are an operator's business and hold no more than what this client sent it. */
function failedThere(message: unknown): ModelyardError {
  const reason = typeof message === 'string' && message !== '' ? message : 'no reason given'
  return new ModelyardError('engine_failed', `The upstream ended its answer with an error: ${reason}`)
}
