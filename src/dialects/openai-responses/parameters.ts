import { ANSWER, label, named, neutral, TASK, type ParameterTable } from '../parameter-table.ts'

const ITEMS = { instead: 'send the items of the conversation as input: no responses are kept' }
const CACHED = 'beginnings are reused without being asked'

/** `POST /v1/responses` */
export const RESPONSE_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'input', 'instructions', 'max_output_tokens', 'temperature', 'top_p'], TASK),
  ...named(['tools', 'tool_choice', 'parallel_tool_calls', 'text', 'reasoning', 'top_logprobs'], TASK),
  ...named(['stream', 'stream_options', 'include'], ANSWER),
  ['store', label('boolean', 'nothing is stored, and the answer says so')],
  ['previous_response_id', neutral('string', [], ITEMS)],
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
  [
    'truncation',
    neutral('string', ['disabled'], { instead: 'shorten the input: nothing is cut in silence' }),
  ],
])
