import type { RunInfo } from '../../runs/run.ts'
import type { FinishReason, Result, TokenLogprob } from '../../tasks/part.ts'
import type { Usage } from '../../tasks/usage.ts'

/** What all objects of one answer share. */
export interface AnswerEnvelope {
  id: string
  /** Seconds since 1970. */
  created: number
  /** The name the client asked for (BR-37). */
  model: string
}

const FINISH_REASONS: Record<FinishReason, string> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  // These two come from library calls only; over HTTP they are errors before they get here.
  abort: 'stop',
  timeout: 'stop',
}

export function finishReason(result: Result): string {
  return FINISH_REASONS[result.finishReason]
}

/** `usage` of chat and completions as JSON, null where nobody knows it. Written out: these objects are made for every answer. */
export function usageJson(usage: Usage, more = ''): string {
  if (usage.unknown === true) return 'null'
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = usage
  return (
    `{"prompt_tokens":${promptTokens},"completion_tokens":${completionTokens},` +
    `"total_tokens":${promptTokens + completionTokens},` +
    `"prompt_tokens_details":{"cached_tokens":${cachedTokens}},` +
    `"completion_tokens_details":{"reasoning_tokens":${reasoningTokens}}${more}}`
  )
}

function perSecond(tokens: number, milliseconds: number): number {
  return milliseconds > 0 ? round((tokens * 1000) / milliseconds) : 0
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

/** The `timings` extension as JSON, with the names llama.cpp's server uses; milliseconds. */
export function timingsJson({ usage, timings }: Result, info: RunInfo): string {
  const evaluated = usage.promptTokens - usage.cachedTokens
  const waits = `{"queue_ms":${round(info.queueMs)},"load_ms":${round(info.loadMs)}`
  if (usage.unknown === true) {
    return `${waits},"prompt_ms":${round(timings.prefill)},"predicted_ms":${round(timings.decode)}}`
  }
  return (
    `${waits},"cache_n":${usage.cachedTokens},` +
    `"prompt_n":${evaluated},"prompt_ms":${round(timings.prefill)},` +
    `"prompt_per_second":${perSecond(evaluated, timings.prefill)},` +
    `"predicted_n":${usage.completionTokens},"predicted_ms":${round(timings.decode)},` +
    `"predicted_per_second":${perSecond(usage.completionTokens, timings.decode)}}`
  )
}

/** What the headers say, for the usage at the end of a stream whose headers went out before it was known. */
export function originJson(info: RunInfo): string {
  const { model, instance = null, queueMs, loadMs, cachedTokens } = info
  const queue = { queue_ms: round(queueMs), load_ms: round(loadMs) }
  return `,"modelyard":${JSON.stringify({ model, instance, ...queue, cached_tokens: cachedTokens })}`
}

/** The beginning of every object of an answer; it stays open. */
export function envelopeJson({ id, created, model }: AnswerEnvelope, kind: string): string {
  return `{"id":"${id}","object":"${kind}","created":${created},"model":${JSON.stringify(model)}`
}

/** An entry of chat's `logprobs.content`. */
export function chatLogprob({ text, bytes, logprob, top }: TokenLogprob): Record<string, unknown> {
  return {
    token: text,
    logprob,
    bytes,
    top_logprobs: top.map((other) => ({ token: other.text, logprob: other.logprob, bytes: other.bytes })),
  }
}
