import { ModelyardError } from '../../base/errors.ts'
import type { FinishReason, Part, Result, TokenLogprob } from '../../tasks/part.ts'
import { NO_USAGE, type Usage } from '../../tasks/usage.ts'

interface WireUsage {
  prompt_tokens?: number
  completion_tokens?: number
  prompt_tokens_details?: { cached_tokens?: number } | null
  completion_tokens_details?: { reasoning_tokens?: number } | null
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
  function?: { name?: string; arguments?: string }
}

interface WireMessage {
  content?: string | null
  reasoning_content?: string | null
  reasoning?: string | null
  tool_calls?: WireToolCall[] | null
}

interface WireChoice {
  text?: string
  logprobs?: { content?: WireLogprob[] | null } | null
  finish_reason?: string | null
}

/** What events and whole answers have in common; everything may be missing. */
interface WireTold {
  usage?: WireUsage | null
  error?: { message?: string } | null
}

/** One event of a stream, as far as it is read. */
export interface WireChunk extends WireTold {
  choices?: (WireChoice & { delta?: WireMessage })[]
}

/** An answer in one piece. */
export interface WireDocument extends WireTold {
  choices?: (WireChoice & { message?: WireMessage })[]
}

/** Until the endpoint says it; some never do. */
export const UNKNOWN_USAGE: Usage = { ...NO_USAGE, unknown: true }

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

  /** @throws ModelyardError `engine_failed` for an error told inside the stream */
  read(chunk: WireChunk): Part[] {
    if (chunk.error !== undefined && chunk.error !== null) throw failedThere(chunk.error.message)
    if (chunk.usage !== undefined && chunk.usage !== null) this.#usage = usageOf(chunk.usage)
    const choice = chunk.choices?.[0]
    if (choice === undefined) return []
    const { delta = {}, finish_reason: finish } = choice
    if (typeof finish === 'string') this.#finish = FINISHES[finish] ?? 'stop'
    const parts = [
      ...reasoningParts(delta.reasoning_content ?? delta.reasoning),
      ...textParts(delta.content ?? choice.text, choice.logprobs?.content ?? undefined),
      ...(delta.tool_calls ?? []).flatMap((call) => this.#callParts(call)),
    ]
    return parts.length > 0 || this.complete ? [...this.#start(), ...parts] : []
  }

  /** @throws ModelyardError `engine_failed` for an error that was sent as an answer */
  readWhole({ choices = [], ...told }: WireDocument): Part[] {
    return this.read({
      ...told,
      choices: choices.map(({ message = {}, ...choice }) => ({ ...choice, delta: numbered(message) })),
    })
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

  #callParts({ index = 0, id, function: called = {} }: WireToolCall): Part[] {
    const parts: Part[] = []
    if (!this.#calls.has(index) && called.name !== undefined) {
      this.#calls.add(index)
      parts.push({ type: 'tool-call', index, id: id ?? `call_${index}`, name: called.name })
    }
    const text = called.arguments ?? ''
    return text === '' ? parts : [...parts, { type: 'tool-call-arguments', index, text }]
  }
}

/** In a whole answer calls are told apart by their places. */
function numbered(message: WireMessage): WireMessage {
  const { tool_calls: calls } = message
  return calls === undefined || calls === null
    ? message
    : { ...message, tool_calls: calls.map((call, index) => ({ ...call, index })) }
}

function reasoningParts(text: string | null | undefined): Part[] {
  return text === undefined || text === null || text === '' ? [] : [{ type: 'reasoning', text }]
}

function textParts(text: string | null | undefined, logprobs: WireLogprob[] | undefined): Part[] {
  if (text === undefined || text === null) return []
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
    promptTokens: usage.prompt_tokens ?? 0,
    cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    completionTokens: usage.completion_tokens ?? 0,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  }
}

/** The endpoint's own words are shown: they are an operator's business and hold no more than what this client sent it. */
function failedThere(message: string | undefined): ModelyardError {
  return new ModelyardError(
    'engine_failed',
    `The upstream ended its answer with an error: ${message ?? 'no reason given'}`,
  )
}
