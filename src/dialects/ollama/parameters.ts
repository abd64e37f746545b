import { ANSWER, label, named, neutral, TASK, type ParameterTable } from '../parameter-table.ts'

const CONFIGURED = 'how a model is loaded is its configuration’s affair'
const ONE_IMAGE = { instead: 'POST /v1/images/generations makes images' }

/** `POST /api/generate` */
export const GENERATE_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'prompt', 'suffix', 'system', 'context', 'raw', 'format', 'images', 'think'], TASK),
  ...named(['keep_alive', 'options', 'logprobs', 'top_logprobs', 'truncate'], TASK),
  ...named(['stream'], ANSWER),
  [
    'template',
    neutral('string', [''], { instead: "the model's own template is used; send raw to use none" }),
  ],
  ['shift', neutral('boolean', [false], { instead: 'an answer ends where the context is full' })],
  ['width', neutral('number', [0], ONE_IMAGE)],
  ['height', neutral('number', [0], ONE_IMAGE)],
  ['steps', neutral('number', [0], ONE_IMAGE)],
])

/** `POST /api/chat` */
export const CHAT_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'messages', 'tools', 'format', 'think', 'keep_alive', 'options'], TASK),
  ...named(['logprobs', 'top_logprobs', 'truncate'], TASK),
  ...named(['stream'], ANSWER),
  ['shift', neutral('boolean', [false], { instead: 'an answer ends where the context is full' })],
])

/** `POST /api/embed` */
export const EMBED_PARAMETERS: ParameterTable = new Map(
  named(['model', 'input', 'truncate', 'dimensions', 'keep_alive', 'options'], TASK),
)

/** `POST /api/embeddings` */
export const EMBEDDINGS_PARAMETERS: ParameterTable = new Map(
  named(['model', 'prompt', 'keep_alive', 'options'], TASK),
)

/** `POST /api/create` */
export const CREATE_PARAMETERS: ParameterTable = new Map([
  ...named(['model', 'name', 'from', 'system', 'parameters', 'messages', 'license'], TASK),
  ...named(['stream'], ANSWER),
  [
    'template',
    neutral('string', [''], { instead: 'a made model has the template of the one it is made from' }),
  ],
  ['quantize', neutral('string', [''], { instead: 'pull the model as it shall be' })],
  ['adapters', neutral('object', [{}])],
  ['files', neutral('object', [{}], { instead: 'put the file into the models folder' })],
  ['modelfile', neutral('string', [''], { instead: 'send from, parameters and system' })],
  ['path', neutral('string', [''], { instead: 'send from, parameters and system' })],
])

/** Fields of `options`, and of `parameters` of a created model. */
export const OPTION_PARAMETERS: ParameterTable = new Map([
  ...named(['temperature', 'top_k', 'top_p', 'min_p', 'seed', 'num_predict', 'stop', 'num_ctx'], TASK),
  ...named(['repeat_penalty', 'presence_penalty', 'frequency_penalty'], TASK),
  // No request loads a model anew (M3). None of these changes an answer.
  ...named(['num_gpu', 'main_gpu', 'num_thread', 'num_batch'], label('number', CONFIGURED)),
  ...named(['numa', 'low_vram', 'f16_kv', 'use_mmap', 'use_mlock'], label('boolean', CONFIGURED)),
  ['num_keep', label('number', 'nothing is ever dropped from the front of a context')],
  ...named(['mirostat_tau', 'mirostat_eta'], label('number', 'mirostat is off')),
  ['mirostat', neutral('number', [0])],
  ['typical_p', neutral('number', [1])],
  ['tfs_z', neutral('number', [1])],
  ['repeat_last_n', neutral('number', [64])],
  ['penalize_newline', neutral('boolean', [true])],
  ['vocab_only', neutral('boolean', [false])],
  ['embedding_only', neutral('boolean', [false])],
  ['logits_all', neutral('boolean', [false], { instead: 'use logprobs' })],
])
