import { anthropicDialect } from '../../src/dialects/anthropic/anthropic-dialect.ts'
import type { Dialect } from '../../src/dialects/dialect.ts'
import { encodeConversation } from '../../src/dialects/ollama/conversation-code.ts'
import { ollamaDialect } from '../../src/dialects/ollama/ollama-dialect.ts'
import { openAiDialect } from '../../src/dialects/openai/openai-dialect.ts'
import type { Json } from './mutate.ts'

const SCHEMA: Json = { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'] }
const PNG = 'iVBORw0KGgo='
const CONTEXT = encodeConversation([{ role: 'user', content: 'x' }])

/** Valid bodies with as many fields as go together. */
export const VALID_BODIES: [Dialect, string, Json][] = [
  [
    openAiDialect,
    '/chat/completions',
    {
      model: 'm',
      messages: [
        { role: 'developer', content: 'x' },
        { role: 'user', content: [{ type: 'text', text: 'x' }, { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }], name: 'a' },
        { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'x' }] },
      ],
      tools: [{ type: 'function', function: { name: 'f', description: 'x', parameters: SCHEMA, strict: true } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      response_format: { type: 'json_schema', json_schema: { name: 's', schema: SCHEMA, strict: true } },
      stream: true,
      stream_options: { include_usage: true },
      stop: ['a', 'b'],
      logit_bias: { 5: -100 },
      logprobs: true,
      top_logprobs: 3,
      max_completion_tokens: 5,
      temperature: 0.5,
      seed: 3,
      n: 1,
      keep_alive: '5m',
    },
  ],
  [
    openAiDialect,
    '/responses',
    {
      model: 'm',
      instructions: 'x',
      input: [
        { role: 'developer', content: 'x' },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'x' }, { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'low' }] },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'x' }], content: [{ type: 'reasoning_text', text: 'x' }] },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'x' }] },
        { role: 'assistant', content: [{ type: 'output_text', text: 'x', annotations: [] }] },
      ],
      tools: [{ type: 'function', name: 'f', description: 'x', parameters: SCHEMA, strict: true }],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
      text: { format: { type: 'json_schema', name: 's', schema: SCHEMA, strict: true }, verbosity: 'medium' },
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['message.output_text.logprobs'],
      top_logprobs: 3,
      stream: true,
      store: false,
      max_output_tokens: 5,
      temperature: 0.5,
      metadata: { a: 'b' },
    },
  ],
  [openAiDialect, '/completions', { model: 'm', prompt: ['a', [1, 2]], suffix: 'x', stop: 'y', logprobs: 2, echo: false, max_tokens: 3 }],
  [openAiDialect, '/audio/speech', { model: 'm', input: 'x', voice: 'a', speed: 1.5, response_format: 'wav', instructions: '', stream_format: 'audio', timeout: '5s' }],
  [openAiDialect, '/images/generations', { model: 'm', prompt: 'x', n: 2, size: '64x64', response_format: 'b64_json', output_format: 'png', quality: 'auto', background: 'opaque', seed: 0, steps: 2, cfg_scale: 1, negative_prompt: 'y', user: 'z', keep_alive: '5m' }],
  [openAiDialect, '/rerank', { model: 'm', query: 'x', documents: ['a', { text: 'b' }], top_n: 1, return_documents: true }],
  [openAiDialect, '/score', { model: 'm', text_1: ['x', 'y'], text_2: ['a', 'b'] }],
  [openAiDialect, '/embeddings', { model: 'm', input: [[1, 2], [3]], dimensions: 3, encoding_format: 'base64' }],
  [
    anthropicDialect,
    '/messages',
    {
      model: 'm',
      max_tokens: 5000,
      system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
            { type: 'document', title: 'x', source: { type: 'text', media_type: 'text/plain', data: 'x' }, citations: { enabled: false } },
            { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'x' }] } },
            { type: 'search_result', title: 'x', source: 'y', content: [{ type: 'text', text: 'x' }] },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'x', signature: 'y' },
            { type: 'redacted_thinking', data: 'x' },
            { type: 'text', text: 'x' },
            { type: 'tool_use', id: 'a', name: 'f', input: { zone: 'x' } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', is_error: true, content: [{ type: 'text', text: 'x' }] }] },
      ],
      tools: [{ name: 'f', description: 'x', input_schema: SCHEMA, strict: true, allowed_callers: ['direct'] }],
      tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 1024, display: 'omitted' },
      output_config: { effort: 'low', format: { type: 'json_schema', schema: SCHEMA } },
      stop_sequences: ['a'],
      stream: true,
      temperature: 1,
      top_k: 5,
      metadata: { user_id: 'x' },
      service_tier: 'auto',
      session: 'a',
    },
  ],
  [anthropicDialect, '/messages/count_tokens', { model: 'm', messages: [{ role: 'user', content: 'x' }], system: 'x', tools: [{ name: 'f', input_schema: SCHEMA }] }],
  [
    ollamaDialect,
    '/chat',
    {
      model: 'm',
      messages: [
        { role: 'system', content: 'x' },
        { role: 'user', content: 'x', images: [PNG] },
        { role: 'assistant', content: '', thinking: 'x', tool_calls: [{ id: 'a', function: { index: 0, name: 'f', arguments: { zone: 'x' } } }] },
        { role: 'tool', content: 'x', tool_name: 'f', tool_call_id: 'a' },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: SCHEMA } }],
      format: SCHEMA,
      think: 'low',
      options: { temperature: 0, top_k: 4, num_predict: 5, num_ctx: 5, stop: ['a'], seed: 1, num_gpu: 3, mirostat: 0 },
      stream: false,
      keep_alive: '1h30m',
      truncate: false,
      logprobs: true,
      top_logprobs: 2,
    },
  ],
  [ollamaDialect, '/generate', { model: 'm', prompt: 'x', system: 'x', context: CONTEXT, images: [PNG], format: 'json', think: true, options: {}, keep_alive: 5 }],
  [ollamaDialect, '/generate', { model: 'm', prompt: 'x', raw: true, suffix: 'y', stream: true, shift: false }],
  [ollamaDialect, '/embed', { model: 'm', input: ['a', 'b'], truncate: true, dimensions: 2, options: { num_ctx: 5 } }],
  [ollamaDialect, '/embeddings', { model: 'm', prompt: 'x', keep_alive: -1 }],
  [ollamaDialect, '/show', { model: 'm', verbose: true }],
  [ollamaDialect, '/pull', { model: 'm', insecure: false, stream: true }],
  [ollamaDialect, '/create', { model: 'n', from: 'm', system: 'x', parameters: { temperature: 1, stop: ['a'] }, messages: [{ role: 'user', content: 'x' }], license: ['x'] }],
  [ollamaDialect, '/copy', { source: 'm', destination: 'n' }],
] // prettier-ignore

/** The texts of a valid form with a sound, but for the file. */
export const VALID_FORM: Json = {
  model: 'm',
  language: 'en',
  prompt: 'x',
  temperature: '0.5',
  response_format: 'verbose_json',
  stream: 'false',
  'timestamp_granularities[]': 'segment',
  keep_alive: '5m',
}

/** As far as anybody looks before a model is asked. */
export const SOUND: Uint8Array = Buffer.from('RIFF\0\0\0\0WAVEfmt ')
