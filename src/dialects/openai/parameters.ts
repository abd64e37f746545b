import { ANSWER, label, named, neutral, TASK, type ParameterTable } from '../parameter-table.ts'

const CACHED = 'beginnings are reused without being asked'
const USER = label('string', 'callers are not told apart by it')

/** `POST /v1/chat/completions` */
export const CHAT_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'messages', 'max_completion_tokens', 'max_tokens', 'temperature', 'top_p'], TASK),
  ...named(['presence_penalty', 'frequency_penalty', 'logit_bias', 'seed', 'stop'], TASK),
  ...named(['logprobs', 'top_logprobs', 'response_format', 'reasoning_effort'], TASK),
  ...named(['tools', 'tool_choice', 'parallel_tool_calls'], TASK),
  ...named(['stream', 'stream_options'], ANSWER),
  ...named(['user', 'safety_identifier'], USER),
  ...named(['prompt_cache_key', 'prompt_cache_retention'], label('string', CACHED)),
  ['prompt_cache_options', label('object', CACHED)],
  ['metadata', label('object', 'no answers are kept to be found by it')],
  ['n', TASK],
  ['audio', neutral('object', [])],
  ['function_call', neutral('string', ['none', 'auto'], { instead: 'use tool_choice' })],
  ['functions', neutral('array', [[]], { instead: 'use tools' })],
  ['modalities', neutral('array', [['text']])],
  ['moderation', neutral('object', [])],
  ['prediction', neutral('object', [])],
  ['service_tier', neutral('string', ['auto', 'default'])],
  [
    'store',
    neutral('boolean', [false], { instead: 'keep the answer yourself: this server stores no conversations' }),
  ],
  ['verbosity', neutral('string', ['medium'])],
  ['web_search_options', neutral('object', [], { instead: 'offer a tool' })],
])

/** `POST /v1/completions` */
export const COMPLETION_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'prompt', 'suffix', 'echo', 'max_tokens', 'temperature', 'top_p'], TASK),
  ...named(['presence_penalty', 'frequency_penalty', 'logit_bias', 'seed', 'stop', 'logprobs'], TASK),
  ...named(['stream', 'stream_options'], ANSWER),
  ['user', USER],
  ['n', TASK],
  ['best_of', neutral('number', [1], { range: { least: 1, integer: true } })],
])

/** `POST /v1/rerank` (no reference of OpenAI's; Jina's and Cohere's) */
export const RERANK_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'query', 'documents'], TASK),
  ...named(['top_n', 'return_documents'], ANSWER),
  [
    'max_tokens_per_doc',
    neutral('number', [], { instead: 'shorten the documents: nothing is cut in silence' }),
  ],
  ['rank_fields', neutral('array', [['text']], { instead: 'send documents as texts' })],
])

/** `POST /v1/score` (vLLM's) */
export const SCORE_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'text_1', 'text_2'], TASK),
  [
    'truncate_prompt_tokens',
    neutral('number', [], { instead: 'shorten the texts: nothing is cut in silence' }),
  ],
])

/** `POST /v1/embeddings` */
export const EMBEDDING_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'input', 'dimensions'], TASK),
  ['encoding_format', ANSWER],
  ['user', USER],
])

/** `POST /v1/audio/transcriptions` and `/translations` */
export const TRANSCRIPTION_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'file', 'language', 'prompt', 'temperature'], TASK),
  ...named(['response_format', 'stream', 'timestamp_granularities'], ANSWER),
  ['chunking_strategy', label('any', 'long sounds are always heard in pieces')],
  ['include', neutral('array', [[]], { instead: 'leave it out: transcripts have no log-probabilities' })],
  ['known_speaker_names', neutral('array', [[]], { instead: 'leave it out: speakers are not told apart' })],
  [
    'known_speaker_references',
    neutral('array', [[]], { instead: 'leave it out: speakers are not told apart' }),
  ],
])

/** `POST /v1/images/generations` */
export const IMAGE_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'prompt', 'n', 'size'], TASK),
  ['user', USER],
  ['moderation', label('string', 'nothing is judged or left out')],
  [
    'response_format',
    neutral('string', ['b64_json'], { instead: 'ask for b64_json: this server keeps no files to link to' }),
  ],
  ['output_format', neutral('string', ['png'], { instead: 'ask for png, and convert it' })],
  ['output_compression', neutral('number', [100], { range: { least: 0, most: 100, integer: true } })],
  ['background', neutral('string', ['auto', 'opaque'], { instead: 'models here know no transparency' })],
  ['quality', neutral('string', ['auto', 'standard'], { instead: 'give a number of steps' })],
  ['style', neutral('string', [], { instead: 'write it into the prompt' })],
  ['stream', neutral('boolean', [false], { instead: 'leave it out: images come whole' })],
  [
    'partial_images',
    neutral('number', [0], {
      instead: 'leave it out: images come whole',
      range: { least: 0, most: 3, integer: true },
    }),
  ],
])

/** `POST /v1/audio/speech` */
export const SPEECH_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'input', 'voice', 'speed', 'response_format'], TASK),
  ['instructions', neutral('string', [''], { instead: 'choose another voice' })],
  ['stream_format', neutral('string', ['audio'], { instead: 'read the sound itself: it is streamed' })],
])
