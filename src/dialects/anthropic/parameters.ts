import {
  ANSWER,
  label,
  named,
  neutral,
  TASK,
  type ParameterHandling,
  type ParameterTable,
} from '../parameter-table.ts'

const NOTHING_RUNS_HERE = { instead: 'run it yourself and send what came of it' }

/** Parameters that shape the prompt, and so are those of `count_tokens` too. */
const PROMPT_PARAMETERS: [string, ParameterHandling][] = [
  ...named(['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config'], TASK),
  ['cache_control', label('object', 'beginnings are reused without being asked')],
  // Headers of the reference; clients that put them into the body are not refused for it.
  ...named(['user_profile_id', 'workspace_id'], label('string', 'callers are not told apart by it')),
  ...named(['speed'], neutral('string', ['standard'])),
]

/**
 * `POST /v1/messages`, the beta's parameters included: clients send them without asking first. `temperature`, `top_k` and `top_p` are
 * those of the reference for models that take them.
 */
export const MESSAGE_PARAMETERS: ParameterTable = new Map([
  ...PROMPT_PARAMETERS,
  ...named(['max_tokens', 'stop_sequences', 'temperature', 'top_k', 'top_p', 'output_format'], TASK),
  ...named(['stream'], ANSWER),
  ['metadata', label('object', 'callers are not told apart by it')],
  ...named(
    ['service_tier', 'inference_geo'],
    label('string', 'there is one tier and one place: this machine'),
  ),
  ['betas', label('array', 'what is there of a beta is always on')],
  ['context_management', label('object', 'what it would take out of the prompt stays in')],
  ['billing_policy', label('object', 'nothing is billed')],
  ['container', neutral('any', [], NOTHING_RUNS_HERE)],
  ['mcp_servers', neutral('array', [[]], { instead: 'offer their tools in tools' })],
  ['fallbacks', neutral('any', [[]], { instead: 'ask for the other model yourself' })],
  ['fallback_credit_token', neutral('any', [])],
  ['thread', neutral('object', [], { instead: 'send the whole conversation' })],
  ['compaction', neutral('object', [], { instead: 'shorten the conversation yourself' })],
  ['diagnostics', neutral('object', [{}, { previous_message_id: null }])],
])

/** `POST /v1/messages/count_tokens` */
export const COUNT_PARAMETERS: ParameterTable = new Map(PROMPT_PARAMETERS)
