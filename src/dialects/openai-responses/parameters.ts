import { ANSWER, label, named, neutral, TASK, type ParameterTable } from '../parameter-table.ts'

const ITEMS = { instead: 'go on from a response by previous_response_id, or send the items as input' }
const CACHED = 'beginnings are reused without being asked'

/** `POST /v1/responses` */
export const RESPONSE_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'input', 'instructions', 'max_output_tokens', 'temperature', 'top_p'], TASK),
  ...named(['tools', 'tool_choice', 'parallel_tool_calls', 'text', 'reasoning', 'top_logprobs'], TASK),
  ...named(['stream', 'stream_options', 'include'], ANSWER),
  ...named(['store', 'previous_response_id', 'truncation'], TASK),
  ...named(['user', 'safety_identifier'], label('string', 'callers are not told apart by it')),
  ...named(['prompt_cache_key', 'prompt_cache_retention'], label('string', CACHED)),
  ['prompt_cache_options', label('object', CACHED)],
  ['metadata', label('object', 'it is sent back as it came')],
  ['background', neutral('boolean', [false], { instead: 'wait for the answer, or stream it' })],
  ['context_management', neutral('array', [[]])],
  ['conversation', neutral('any', [], ITEMS)],
  ['moderation', neutral('object', [])],
  ['prompt', neutral('object', [], { instead: 'send the text itself as instructions' })],
  ['service_tier', neutral('string', ['auto', 'default'])],
])
