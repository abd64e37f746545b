import type { Result } from '../../tasks/part.ts'
import type { Usage } from '../../tasks/usage.ts'
import type { Fields } from '../fields.ts'
import type { ErrorFields } from '../openai/encode-error.ts'
import type { ResponseItem } from './response-items.ts'

/** What of a request comes back with the answer. */
export interface ResponseEnvelope {
  /** `resp_…` */
  id: string
  /** Seconds since 1970. */
  created: number
  /** As the client wrote it (BR-37). */
  model: string
  /** The request's own body: the API sends its settings back. */
  body: Fields
  /** Keeps the finished response; absent = it is not kept. Settled when the yard has been asked. */
  keep?: ((response: Fields) => void) | undefined
  /** Messages that `truncation: "auto"` left out. */
  dropped?: number
}

/** How far an answer is. */
export interface ResponseState {
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed'
  output: readonly ResponseItem[]
  usage?: Usage
  error?: ErrorFields
}

/** The response as the API has it; `output_text` is what SDKs make of it. */
export function responseObject(envelope: ResponseEnvelope, state: ResponseState): Fields {
  const { id, created, model } = envelope
  const { status, output, usage, error } = state
  return {
    id,
    object: 'response',
    created_at: created,
    status,
    background: false,
    error: error === undefined ? null : { code: errorCode(error), message: error.message },
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    model,
    output,
    store: envelope.keep !== undefined,
    ...settingsOf(envelope.body),
    ...((envelope.dropped ?? 0) > 0 && { truncated_messages: envelope.dropped }),
    usage: usage === undefined || usage.unknown === true ? null : usageFields(usage),
  }
}

/** The codes of a broken response that the API has; clients wait on some of them and give up on others. */
function errorCode({ code, type }: ErrorFields): string {
  return type === 'server_error' ? 'server_error' : code
}

function settingsOf(body: Fields): Fields {
  const text = body['text'] as Fields | null | undefined
  const reasoning = body['reasoning'] as Fields | null | undefined
  return {
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: null,
    metadata: body['metadata'] ?? {},
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    previous_response_id: body['previous_response_id'] ?? null,
    prompt_cache_key: body['prompt_cache_key'] ?? null,
    reasoning: { effort: reasoning?.['effort'] ?? null, summary: null },
    safety_identifier: body['safety_identifier'] ?? null,
    service_tier: 'default',
    temperature: body['temperature'] ?? null,
    text: { format: text?.['format'] ?? { type: 'text' }, verbosity: 'medium' },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: body['tools'] ?? [],
    top_logprobs: body['top_logprobs'] ?? 0,
    top_p: body['top_p'] ?? null,
    truncation: body['truncation'] ?? 'disabled',
    user: body['user'] ?? null,
  }
}

function usageFields(usage: Usage): Fields {
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = usage
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  }
}

/** What became of an answer that ended by itself. */
export function endedState(result: Result, output: readonly ResponseItem[]): ResponseState {
  const status = result.finishReason === 'length' ? 'incomplete' : 'completed'
  return { status, output, usage: result.usage }
}
