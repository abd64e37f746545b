import type { RunInfo } from '../../runs/run.ts'
import type { FinishReason, Result } from '../../tasks/part.ts'
import type { Usage } from '../../tasks/usage.ts'

/** What one answer carries from its request. */
export interface AnswerEnvelope {
  /** `msg_…` */
  id: string
  /** `req_…`, for errors inside a stream */
  requestId: string
  /** The name the client asked for (BR-37). */
  model: string
  thinkingShown: boolean
}

const STOP_REASONS: Record<FinishReason, string> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  // These two come from library calls only; over HTTP they are errors before they get here.
  abort: 'end_turn',
  timeout: 'end_turn',
}

/** Why the answer ended, as fields of JSON. */
export function stopJson({ finishReason, stopSequence }: Result): string {
  const sequence = finishReason === 'stop-sequence' ? (stopSequence ?? null) : null
  return `"stop_reason":"${STOP_REASONS[finishReason]}","stop_sequence":${JSON.stringify(sequence)},"stop_details":null`
}

/**
 * Tokens as fields of JSON. Reused ones are apart from `input_tokens`, nothing is counted twice (BR-52); writing a cache is not told
 * apart from reading the prompt here.
 */
export function tokensJson({ promptTokens, cachedTokens, completionTokens, reasoningTokens }: Usage): string {
  return (
    `"input_tokens":${promptTokens - cachedTokens},"cache_creation_input_tokens":0,` +
    `"cache_read_input_tokens":${cachedTokens},"output_tokens":${completionTokens},` +
    `"output_tokens_details":{"thinking_tokens":${reasoningTokens}},"server_tool_use":null`
  )
}

/** `usage` of a whole message. */
export function usageJson(usage: Usage): string {
  return `{${tokensJson(usage)},"cache_creation":null,"service_tier":"standard","inference_geo":null,"speed":null}`
}

/** What the headers say, for the usage at the end of a stream whose headers went out before it was known. */
export function originJson({ model, instance, queueMs, loadMs, cachedTokens }: RunInfo): string {
  const times = { queue_ms: Math.round(queueMs), load_ms: Math.round(loadMs) }
  const origin = { model, instance: instance ?? null, ...times, cached_tokens: cachedTokens }
  return `,"modelyard":${JSON.stringify(origin)}`
}

/** A message object as JSON. @param end its last fields, beginning with a comma */
export function messageJson({ id, model }: AnswerEnvelope, content: string, end: string): string {
  const head = `{"id":"${id}","type":"message","role":"assistant","model":${JSON.stringify(model)}`
  return `${head},"content":[${content}],"container":null,"diagnostics":null${end}}`
}

/** Without `citations`: where there are none the AI SDK refuses a null. */
export function textBlockJson(text: string): string {
  return `{"type":"text","text":${JSON.stringify(text)}}`
}

export function thinkingBlockJson(thinking: string, signature: string): string {
  return `{"type":"thinking","thinking":${JSON.stringify(thinking)},"signature":"${signature}"}`
}

/** @param input JSON */
export function toolUseBlockJson(id: string, name: string, input: string): string {
  const names = `"id":${JSON.stringify(id)},"name":${JSON.stringify(name)}`
  return `{"type":"tool_use",${names},"input":${input},"caller":{"type":"direct"}}`
}
