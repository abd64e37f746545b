import { describe, expect, it } from 'vitest'
import {
  answerText,
  decodeRun,
  logprob,
  result,
  STARTED,
  TEXT,
  THOUGHT,
  titled,
  transcript,
  TWO_CALLS,
  type TranscriptExchange,
} from '../../../test/http/transcript.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { Part } from '../../tasks/part.ts'
import { openAiDialect } from './openai-dialect.ts'

const USER = { role: 'user', content: 'Hi' }
const TOOL = {
  type: 'function',
  function: { name: 'get_time', parameters: { type: 'object', properties: { zone: { type: 'string' } } } },
}
const THOUGHT_RESULT = result({
  usage: { promptTokens: 20, cachedTokens: 16, completionTokens: 5, reasoningTokens: 3 },
})
const LOGPROBS: Part[] = [
  STARTED,
  { type: 'text', text: 'He', logprobs: [logprob('He', -0.25, [['He', -0.25], ['Ho', -1.5]])] }, // prettier-ignore
  { type: 'text', text: 'llo', logprobs: [logprob('llo', -0.125)] },
]

const ECHOED: Part[] = [
  STARTED,
  {
    type: 'text',
    text: 'So he',
    promptLogprobs: [
      { ...logprob('So', 0), logprob: null },
      logprob(' he', -2, [[' he', -2], [' it', -0.5]]), // prettier-ignore
    ],
  },
  ...LOGPROBS.slice(1),
]

/** A request of two tasks; the second answer is cut. */
const TWO_RUNS = [
  { parts: TEXT },
  { parts: [STARTED, { type: 'text' as const, text: 'Two' }], result: result({ finishReason: 'length' }) },
]

const CHAT = '/chat/completions'
const TEXTS = '/completions'
const VECTORS = '/embeddings'

/** Each becomes one file in `__fixtures__`: what came, what task it is, what goes back. */
const EXCHANGES: TranscriptExchange[] = [
  { title: 'chat', path: CHAT, body: { model: 'tiny', messages: [USER] }, parts: TEXT },
  {
    title: 'chat-stream',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], stream: true },
    parts: TEXT,
  },
  {
    title: 'chat-stream-usage',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], stream: true, stream_options: { include_usage: true } },
    parts: TEXT,
  },
  {
    title: 'chat-stream-usage-headers-early',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], stream: true, stream_options: { include_usage: true } },
    parts: TEXT,
    early: true,
  },
  {
    title: 'chat-choices',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], n: 2, seed: 4_294_967_295 },
    runs: TWO_RUNS,
  },
  {
    title: 'chat-choices-stream',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], n: 2, stream: true, stream_options: { include_usage: true } },
    runs: TWO_RUNS,
  },
  {
    title: 'completion-choices',
    path: TEXTS,
    body: { model: 'tiny', prompt: ['One', 'Two'], n: 2, seed: 0 },
    runs: Array.from({ length: 4 }, () => ({ parts: TEXT })),
  },
  {
    title: 'chat-length',
    path: CHAT,
    body: {
      model: 'tiny',
      messages: [USER],
      max_completion_tokens: 5,
      max_tokens: 900,
      temperature: 0,
      seed: 0,
    },
    parts: TEXT,
    result: result({ finishReason: 'length' }),
  },
  {
    title: 'chat-stop-sequence',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], stop: ['###', 'END'] },
    parts: TEXT,
    result: result({ finishReason: 'stop-sequence', stopSequence: 'END' }),
  },
  {
    title: 'chat-tools',
    path: CHAT,
    body: {
      model: 'tiny',
      messages: [USER],
      tools: [TOOL],
      tool_choice: 'required',
      parallel_tool_calls: true,
    },
    parts: TWO_CALLS,
    result: result({ finishReason: 'tool-calls' }),
  },
  {
    title: 'chat-tools-stream',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], tools: [TOOL], stream: true },
    parts: TWO_CALLS,
    result: result({ finishReason: 'tool-calls' }),
  },
  {
    title: 'chat-tools-named-with-text',
    path: CHAT,
    body: {
      model: 'tiny',
      messages: [USER],
      tools: [TOOL],
      tool_choice: { type: 'function', function: { name: 'get_time' } },
    },
    parts: [STARTED, { type: 'text', text: 'Let me look.' }, ...TWO_CALLS.slice(1, 5)],
    result: result({ finishReason: 'tool-calls' }),
  },
  {
    title: 'chat-tool-history',
    path: CHAT,
    body: {
      model: 'tiny',
      messages: [
        { role: 'developer', content: 'Be short.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What ' },
            { type: 'text', text: 'time?' },
          ],
          name: 'ann',
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_a', type: 'function', function: { name: 'get_time', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_a', content: [{ type: 'text', text: '12:00' }] },
      ],
      tools: [TOOL],
    },
    parts: TEXT,
  },
  {
    title: 'chat-reasoning',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], reasoning_effort: 'low' },
    parts: THOUGHT,
    result: THOUGHT_RESULT,
  },
  {
    title: 'chat-reasoning-stream',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], reasoning_effort: 'none', stream: true },
    parts: THOUGHT,
    result: THOUGHT_RESULT,
  },
  {
    title: 'chat-logprobs',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], logprobs: true, top_logprobs: 2 },
    parts: LOGPROBS,
  },
  {
    title: 'chat-logprobs-stream',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], logprobs: true, stream: true },
    parts: LOGPROBS,
  },
  {
    title: 'chat-json-schema',
    path: CHAT,
    body: {
      model: 'tiny',
      messages: [USER],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', strict: true, schema: { type: 'object', properties: {} } },
      },
    },
    parts: [STARTED, { type: 'text', text: '{}' }],
  },
  {
    title: 'chat-image',
    path: CHAT,
    body: {
      model: 'tiny',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw==', detail: 'low' } },
          ],
        },
      ],
    },
    parts: TEXT,
  },
  {
    title: 'chat-extensions',
    path: CHAT,
    body: {
      model: 'tiny',
      messages: [USER, { role: 'assistant', content: 'Sure: ' }],
      top_k: 0,
      min_p: 0,
      repeat_penalty: 1.1,
      logit_bias: { 5: -100, 7: 0 },
      grammar: 'root ::= "x"',
      chat_template_kwargs: { enable_thinking: false },
      keep_alive: '5m',
      priority: 'background',
      session: 'thread-1',
      cache_prompt: true,
      unheard_of: 1,
    },
    parts: TEXT,
  },
  {
    title: 'chat-stream-emoji-split',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], stream: true },
    parts: [STARTED, { type: 'text', text: 'a\uD83D' }, { type: 'text', text: '\uDE38b' }],
  },
  {
    title: 'chat-stream-fails',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], stream: true, stream_options: { include_usage: true } },
    parts: TEXT,
    failure: new ModelyardError('worker_exited', 'The worker of model tiny ended while it answered.'),
  },
  {
    title: 'chat-empty-answer',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], max_tokens: 0 },
    parts: [STARTED],
    result: result({
      finishReason: 'length',
      usage: { promptTokens: 20, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
    }),
  },
  { title: 'completion', path: TEXTS, body: { model: 'tiny', prompt: 'Once' }, parts: TEXT },
  {
    title: 'completion-stream-usage',
    path: TEXTS,
    body: { model: 'tiny', prompt: 'Once', stream: true, stream_options: { include_usage: true } },
    parts: TEXT,
  },
  {
    title: 'completion-several-prompts',
    path: TEXTS,
    body: { model: 'tiny', prompt: ['One', [1, 2, 3]], max_tokens: 0 },
    runs: TWO_RUNS,
  },
  {
    title: 'completion-several-prompts-stream',
    path: TEXTS,
    body: { model: 'tiny', prompt: ['One', 'Two'], stream: true, stream_options: { include_usage: true } },
    runs: TWO_RUNS,
  },
  {
    title: 'completion-infill-logprobs',
    path: TEXTS,
    body: { model: 'tiny', prompt: 'f(', suffix: ')', echo: false, logprobs: 2, stop: 'x' },
    parts: LOGPROBS,
  },
  {
    title: 'completion-echo-logprobs',
    path: TEXTS,
    body: { model: 'tiny', prompt: 'So he', echo: true, logprobs: 1, max_tokens: 2 },
    parts: ECHOED,
  },
  {
    title: 'completion-echo-logprobs-stream',
    path: TEXTS,
    body: { model: 'tiny', prompt: 'So he', echo: true, logprobs: 1, max_tokens: 2, stream: true },
    parts: ECHOED,
  },
  {
    title: 'completion-logprobs-stream',
    path: TEXTS,
    body: { model: 'tiny', prompt: [9, 8], logprobs: 0, stream: true },
    parts: LOGPROBS,
  },
  {
    title: 'rerank',
    path: '/rerank',
    body: {
      model: 'tiny',
      query: 'q',
      documents: ['a', { text: 'b' }, 'c'],
      top_n: 2,
      return_documents: true,
    },
    parts: [
      STARTED,
      { type: 'score', index: 0, score: 0.25 },
      { type: 'score', index: 1, score: 0.75 },
      { type: 'score', index: 2, score: 0.25 },
    ],
  },
  {
    title: 'score-pairs',
    path: '/score',
    body: { model: 'tiny', text_1: ['q', 'r'], text_2: ['a', 'b'] },
    runs: [
      { parts: [STARTED, { type: 'score', index: 0, score: 0.25 }] },
      { parts: [STARTED, { type: 'score', index: 0, score: 0.75 }] },
    ],
  },
  {
    title: 'embedding-float',
    path: VECTORS,
    body: { model: 'tiny', input: ['a', 'b'] },
    parts: [
      STARTED,
      { type: 'vector', index: 1, vector: Float32Array.from([0, -1]) },
      { type: 'vector', index: 0, vector: Float32Array.from([0.5, 0.25]) },
    ],
  },
  {
    title: 'embedding-base64-dimensions',
    path: VECTORS,
    body: { model: 'tiny', input: [[1, 2], [3]], encoding_format: 'base64', dimensions: 2 },
    parts: [
      STARTED,
      { type: 'vector', index: 0, vector: Float32Array.from([0.5, 0.25]) },
      { type: 'vector', index: 1, vector: Float32Array.from([0, -1]) },
    ],
  },
]

describe('the OpenAI dialect, exchange by exchange', () => {
  it.each(titled(EXCHANGES))('%s', async (title, exchange) => {
    await expect(transcript(openAiDialect, exchange)).toMatchFileSnapshot(`__fixtures__/${title}.txt`)
  })

  it.each(titled(EXCHANGES.filter(({ body }) => body['stream'] === true)))(
    'BR-01, BR-09: %s has one terminal event and shares id, created and model',
    (_title, exchange) => {
      const events = answerText(
        openAiDialect,
        exchange,
        decodeRun(openAiDialect, exchange.path, exchange.body),
      )
        .split('\n\n')
        .filter((event) => event !== '')
      expect(events.pop()).toBe('data: [DONE]')
      const chunks = events.map((event) => JSON.parse(event.replace('data: ', '')) as Record<string, unknown>)
      const finished = chunks.filter((chunk) => JSON.stringify(chunk).includes('"finish_reason":"'))
      const failed = chunks.filter((chunk) => 'error' in chunk)
      expect(finished.length > 0 ? failed.length : failed.length - 1).toBe(0)
      const same = new Set(
        chunks
          .filter((chunk) => 'id' in chunk)
          .map(({ id, created, model }) => [id, created, model].join(' ')),
      )
      expect([...same]).toEqual([expect.stringMatching(/^(chat)?cmpl-0123456789abcdef 1700000000 tiny$/)])
      const withUsage = chunks.filter(({ usage }) => usage !== null && usage !== undefined)
      const asked = (exchange.body['stream_options'] as { include_usage?: boolean } | undefined)
        ?.include_usage
      expect(withUsage.length).toBe(asked && exchange.failure === undefined ? 1 : 0)
      const withoutChoices = chunks.filter(({ choices }) => Array.isArray(choices) && choices.length === 0)
      expect(withoutChoices).toEqual(withUsage)
    },
  )
})
