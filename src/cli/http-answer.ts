import type { IncomingMessage } from 'node:http'
import { createParser } from 'eventsource-parser'
import { abortError } from '../base/abort.ts'
import { ModelyardError } from '../base/errors.ts'
import type { FinishReason, Part } from '../tasks/part.ts'
import { NO_USAGE, type Usage } from '../tasks/usage.ts'
import { errorFromBody } from './http-json.ts'
import type { Answer, AnswerSummary, Question } from './yard-client.ts'

interface Chunk {
  error?: unknown
  choices?: { delta?: Delta; finish_reason?: string | null }[]
  usage?: WireUsage | null
  /** Milliseconds, under the names llama.cpp's server uses. */
  timings?: { prompt_ms: number; predicted_ms: number; queue_ms: number; load_ms: number }
}

interface Delta {
  content?: string | null
  reasoning_content?: string | null
  tool_calls?: { index: number; id?: string; function?: { name?: string; arguments?: string } }[]
}

interface WireUsage {
  prompt_tokens?: number
  completion_tokens?: number
  prompt_tokens_details?: { cached_tokens?: number } | null
  completion_tokens_details?: { reasoning_tokens?: number } | null
  /** What the headers could not say because they went out before it was known. */
  modelyard?: { model: string; instance: string | null }
}

type Asked = Pick<Question, 'model' | 'signal'>

/** Reads a streamed OpenAI chat completion back into parts. @throws ModelyardError the stream's error event, or that it broke off (R12) */
export async function* readAnswer(response: IncomingMessage, { model, signal }: Asked): Answer {
  const summary: Partial<AnswerSummary> = headersOf(response)
  let complete = false
  for await (const data of serverSentData(response, signal)) {
    complete = data === '[DONE]'
    if (complete) break
    const chunk = JSON.parse(data) as Chunk
    if (chunk.error !== undefined && chunk.error !== null) throw errorFromBody(500, data)
    yield* partsOf(chunk)
    note(chunk, summary)
  }
  if (!complete || summary.finishReason === undefined) throw brokenOff()
  return { model, usage: { ...NO_USAGE, unknown: true }, ...summary, finishReason: summary.finishReason }
}

async function* serverSentData(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<string> {
  const ready: string[] = []
  const parser = createParser({ onEvent: (event) => ready.push(event.data) })
  response.setEncoding('utf8')
  try {
    for await (const chunk of response) {
      parser.feed(chunk as string)
      yield* ready.splice(0)
    }
  } catch (error) {
    throw signal.aborted ? abortError(signal) : brokenOff(error)
  }
}

function brokenOff(cause?: unknown): ModelyardError {
  return new ModelyardError('internal', 'The server broke the answer off before its end; ask again.', {
    cause,
  })
}

function* partsOf(chunk: Chunk): Generator<Part> {
  const delta = chunk.choices?.[0]?.delta
  if (delta?.reasoning_content) yield { type: 'reasoning', text: delta.reasoning_content }
  if (delta?.content) yield { type: 'text', text: delta.content }
  for (const call of delta?.tool_calls ?? []) {
    const { name, arguments: text } = call.function ?? {}
    if (name !== undefined) yield { type: 'tool-call', index: call.index, id: call.id ?? '', name }
    if (text) yield { type: 'tool-call-arguments', index: call.index, text }
  }
}

const FINISH_REASONS: Record<string, FinishReason> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool-calls',
}

function note({ choices, usage, timings }: Chunk, summary: Partial<AnswerSummary>): void {
  const reason = choices?.[0]?.finish_reason
  if (reason) summary.finishReason = FINISH_REASONS[reason] ?? 'stop'
  if (usage) summary.usage = usageOf(usage)
  if (usage?.modelyard !== undefined) {
    summary.model = usage.modelyard.model
    if (usage.modelyard.instance !== null) summary.instance = usage.modelyard.instance
  }
  if (timings !== undefined) {
    summary.timings = { prefill: timings.prompt_ms, decode: timings.predicted_ms }
    Object.assign(summary, { queueMs: timings.queue_ms, loadMs: timings.load_ms })
  }
}

function usageOf(wire: WireUsage): Usage {
  return {
    promptTokens: wire.prompt_tokens ?? 0,
    cachedTokens: wire.prompt_tokens_details?.cached_tokens ?? 0,
    completionTokens: wire.completion_tokens ?? 0,
    reasoningTokens: wire.completion_tokens_details?.reasoning_tokens ?? 0,
  }
}

function headersOf(response: IncomingMessage): Partial<AnswerSummary> {
  const { 'modelyard-model': model, 'modelyard-instance': instance } = response.headers
  return {
    ...(typeof model === 'string' && { model: decodeURIComponent(model) }),
    ...(typeof instance === 'string' && { instance: decodeURIComponent(instance) }),
  }
}
