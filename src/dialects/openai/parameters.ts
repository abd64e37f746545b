import { asNumber, isFields, notImplemented, wrongType, type Fields } from '../fields.ts'

type JsonType = 'string' | 'boolean' | 'number' | 'object' | 'array'

/**
 * What becomes of a documented parameter. `task`: decoded into the task or the run. `answer`: shapes the answer. `label`: has no
 * effect by its own definition, so it is checked and accepted. `neutral`: only values that ask for nothing are accepted, all
 * others are a 501 rather than ignored in silence.
 */
export type ParameterHandling =
  | { by: 'task' }
  | { by: 'answer' }
  | { by: 'label'; type: JsonType }
  | { by: 'neutral'; type: JsonType; values: readonly unknown[]; instead?: string }

/** Name → handling, for every parameter of the published reference; names that are not in it are ignored. */
export type ParameterTable = ReadonlyMap<string, ParameterHandling>

const TASK: ParameterHandling = { by: 'task' }
const ANSWER: ParameterHandling = { by: 'answer' }

function label(type: JsonType): ParameterHandling {
  return { by: 'label', type }
}

function neutral(type: JsonType, values: readonly unknown[], instead?: string): ParameterHandling {
  return instead === undefined ? { by: 'neutral', type, values } : { by: 'neutral', type, values, instead }
}

function named(names: string[], handling: ParameterHandling): [string, ParameterHandling][] {
  return names.map((name) => [name, handling])
}

const ONE_CHOICE = neutral('number', [1], 'send the request once for each choice')

/** `POST /v1/chat/completions` */
export const CHAT_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'messages', 'max_completion_tokens', 'max_tokens', 'temperature', 'top_p'], TASK),
  ...named(['presence_penalty', 'frequency_penalty', 'logit_bias', 'seed', 'stop'], TASK),
  ...named(['logprobs', 'top_logprobs', 'response_format', 'reasoning_effort'], TASK),
  ...named(['tools', 'tool_choice', 'parallel_tool_calls'], TASK),
  ...named(['stream', 'stream_options'], ANSWER),
  ...named(['user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention'], label('string')),
  ...named(['metadata', 'prompt_cache_options'], label('object')),
  ['n', ONE_CHOICE],
  ['audio', neutral('object', [])],
  ['function_call', neutral('string', ['none', 'auto'], 'use tool_choice')],
  ['functions', neutral('array', [[]], 'use tools')],
  ['modalities', neutral('array', [['text']])],
  ['moderation', neutral('object', [])],
  ['prediction', neutral('object', [])],
  ['service_tier', neutral('string', ['auto', 'default'])],
  ['store', neutral('boolean', [false], 'keep the answer yourself: this server stores no conversations')],
  ['verbosity', neutral('string', ['medium'])],
  ['web_search_options', neutral('object', [], 'offer a tool')],
])

/** `POST /v1/completions` */
export const COMPLETION_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'prompt', 'suffix', 'echo', 'max_tokens', 'temperature', 'top_p'], TASK),
  ...named(['presence_penalty', 'frequency_penalty', 'logit_bias', 'seed', 'stop', 'logprobs'], TASK),
  ...named(['stream', 'stream_options'], ANSWER),
  ['user', label('string')],
  ['n', ONE_CHOICE],
  ['best_of', neutral('number', [1])],
])

/** `POST /v1/embeddings` */
export const EMBEDDING_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'input', 'dimensions'], TASK),
  ['encoding_format', ANSWER],
  ['user', label('string')],
])

const TYPE_NAMES: Record<JsonType, string> = {
  string: 'a string',
  boolean: 'a boolean',
  number: 'a number',
  object: 'an object',
  array: 'an array',
}

function hasType(value: unknown, type: JsonType): boolean {
  if (type === 'array') return Array.isArray(value)
  return type === 'object' ? isFields(value) : typeof value === type
}

function checkParameter(name: string, value: unknown, handling: ParameterHandling): void {
  if (handling.by === 'task' || handling.by === 'answer' || value === null || value === undefined) return
  if (!hasType(value, handling.type)) throw wrongType(name, TYPE_NAMES[handling.type], value)
  if (handling.by === 'label') return
  if (typeof value === 'number') asNumber(value, name, { least: 1, integer: true })
  const asked = JSON.stringify(value)
  if (handling.values.some((accepted) => JSON.stringify(accepted) === asked)) return
  const remedy = handling.instead ?? 'leave it out'
  throw notImplemented(name, `This server does not support this value of '${name}'; ${remedy}.`)
}

/** @throws ModelyardError for labels of a wrong type and for what would otherwise be ignored in silence */
export function refuseUnsupported(body: Fields, table: ParameterTable): void {
  for (const name in body) {
    const handling = table.get(name)
    if (handling !== undefined) checkParameter(name, body[name], handling)
  }
}
