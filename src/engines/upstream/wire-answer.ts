import { ModelyardError } from '../../base/errors.ts'
import type { FinishReason, Part, Result, TokenLogprob } from '../../tasks/part.ts'
import { NO_USAGE, type Usage } from '../../tasks/usage.ts'

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

interface WireToolCall {
  index?: number
  id?: string
  /** Some write the arguments as an object. */
  function?: { name?: string; arguments?: unknown } | null
}

interface WireMessage {
  content?: unknown
  reasoning_content?: unknown
  reasoning?: unknown
  tool_calls?: WireToolCall[] | null
}

interface WireChoice {
  text?: unknown
  logprobs?: { content?: WireLogprob[] | null } | null
  finish_reason?: string | null
}

/** What events and whole answers have in common; everything may be missing, or something else. */
interface WireTold {
  usage?: WireUsage | null
  error?: { message?: string } | string | null
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
const FINISHES: Record<string, FinishReason> = {
  length: 'length',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
}

/** Puts an answer together, the events of one stream or a whole one: parts as they come, and at the end what was counted. */
export class WireAnswer {
  #started = false
  #finish: FinishReason | undefined
  #usage: Usage = UNKNOWN_USAGE
  readonly #calls = new Set<number>()

  /** True when the reason of the end has come; a stream without one is broken (R12). */
  get complete(): boolean {
    return this.#finish !== undefined
  }

  /** @throws ModelyardError `engine_failed` for an error told inside the stream, and for what is none of OpenAI's language */
  read(chunk: WireChunk): Part[] {
    return understood(() => {
      const choice = chunk.choices?.[0]
      return this.#read(chunk, choice, choice?.delta ?? {})
    })
  }

  /** @throws ModelyardError `engine_failed` for an error that was sent as an answer */
  readWhole(document: WireDocument): Part[] {
    return understood(() => {
      const choice = document.choices?.[0]
      return this.#read(document, choice, numbered(choice?.message ?? {}))
    })
  }

  #read({ error, usage }: WireTold, choice: WireChoice | undefined, message: WireMessage): Part[] {
    if (error !== undefined && error !== null) throw failedThere(messageOf(error))
    if (usage !== undefined && usage !== null) this.#usage = usageOf(usage)
    if (choice === undefined) return []
    const { finish_reason: finish } = choice
    if (typeof finish === 'string' && BROKEN.has(finish)) throw failedThere(`finish_reason "${finish}"`)
    if (typeof finish === 'string') this.#finish = FINISHES[finish] ?? 'stop'
    const parts = [
      ...reasoningParts(message.reasoning_content ?? message.reasoning),
      ...textParts(message.content ?? choice.text, choice.logprobs?.content ?? undefined),
      ...(message.tool_calls ?? []).flatMap((call) => this.#callParts(call)),
    ]
    return parts.length > 0 || this.complete ? [...this.#start(), ...parts] : []
  }

  result(timings: Result['timings']): Result {
    return { finishReason: this.#finish ?? 'stop', usage: this.#usage, timings }
  }

  /** Most endpoints count the prompt only at the end: until then it is 0. */
  #start(): Part[] {
    if (this.#started) return []
    this.#started = true
    const { promptTokens, cachedTokens } = this.#usage
    return [{ type: 'started', promptTokens, cachedTokens }]
  }

  #callParts({ index = 0, id, function: described }: WireToolCall): Part[] {
    const parts: Part[] = []
    const called = described ?? {}
    if (!this.#calls.has(index) && called.name !== undefined) {
      this.#calls.add(index)
      parts.push({ type: 'tool-call', index, id: id ?? `call_${index}`, name: called.name })
    }
    const text = textOf(called.arguments ?? '', JSON.stringify)
    return text === '' ? parts : [...parts, { type: 'tool-call-arguments', index, text }]
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

/** In a whole answer calls are told apart by their places. */
function numbered(message: WireMessage): WireMessage {
  const { tool_calls: calls } = message
  return calls === undefined || calls === null
    ? message
    : { ...message, tool_calls: calls.map((call, index) => ({ ...call, index })) }
}

function reasoningParts(said: unknown): Part[] {
  const text = textOf(said ?? '')
  return text === '' ? [] : [{ type: 'reasoning', text }]
}

/** @throws TypeError for what is no text, unless it can be written as one */
function textOf(value: unknown, written: (value: object) => string = notText): string {
  if (typeof value === 'string') return value
  return typeof value === 'object' && value !== null ? written(value) : notText()
}

function notText(): never {
  throw new TypeError('no text')
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

export function usageOf(usage: WireUsage): Usage {
  return {
    promptTokens: countOf(usage.prompt_tokens),
    cachedTokens: countOf(usage.prompt_tokens_details?.cached_tokens),
    completionTokens: countOf(usage.completion_tokens),
    reasoningTokens: countOf(usage.completion_tokens_details?.reasoning_tokens),
  }
}

/** What is no count is none. */
function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}

function messageOf(error: { message?: string } | string): string | undefined {
  return typeof error === 'string' ? error : error.message
}

/** The endpoint's own words are shown: they are an operator's business and hold no more than what this client sent it. */
function failedThere(message: string | undefined): ModelyardError {
  return new ModelyardError(
    'engine_failed',
    `The upstream ended its answer with an error: ${message ?? 'no reason given'}`,
  )
}
