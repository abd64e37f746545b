import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../../base/errors.ts'
import type { RunInfo } from '../../runs/run.ts'
import type { Part, Result, TokenLogprob } from '../../tasks/part.ts'
import type { DialectRequest, RunAction } from '../dialect.ts'
import { openAiDialect } from './openai-dialect.ts'

const INFO: RunInfo = {
  id: 'run_1',
  model: 'tiny',
  instance: 'tiny#1',
  slot: 0,
  queueMs: 12.34,
  loadMs: 0,
  promptTokens: 20,
  cachedTokens: 16,
}

const STARTED: Part = { type: 'started', promptTokens: 20, cachedTokens: 16 }

function result(fields: Partial<Result> = {}): Result {
  return {
    finishReason: 'stop',
    usage: { promptTokens: 20, cachedTokens: 16, completionTokens: 5, reasoningTokens: 0 },
    timings: { prefill: 8, decode: 50 },
    ...fields,
  }
}

function logprob(text: string, value: number, top: [string, number][] = []): TokenLogprob {
  const bytes = (token: string): number[] => [...Buffer.from(token)]
  return {
    text,
    bytes: bytes(text),
    logprob: value,
    top: top.map(([token, other]) => ({ text: token, bytes: bytes(token), logprob: other })),
  }
}

const USER = { role: 'user', content: 'Hi' }
const TOOL = {
  type: 'function',
  function: { name: 'get_time', parameters: { type: 'object', properties: { zone: { type: 'string' } } } },
}
const TEXT: Part[] = [STARTED, { type: 'text', text: 'Hello' }, { type: 'text', text: ' there' }]
const TWO_CALLS: Part[] = [
  STARTED,
  { type: 'tool-call', index: 0, id: 'call_a', name: 'get_time' },
  { type: 'tool-call-arguments', index: 0, text: '{"zone"' },
  { type: 'tool-call-arguments', index: 0, text: ':"UTC"' },
  { type: 'tool-call-arguments', index: 0, text: '}' },
  { type: 'tool-call', index: 1, id: 'call_b', name: 'get_time' },
  { type: 'tool-call-arguments', index: 1, text: '{}' },
]
const THOUGHT: Part[] = [
  STARTED,
  { type: 'reasoning', text: 'They greet' },
  { type: 'reasoning', text: ' me.' },
  { type: 'text', text: 'Hello' },
]
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

interface Exchange {
  title: string
  path: string
  body: Record<string, unknown>
  /** One list of parts per task. */
  parts?: Part[][]
  results?: Result[]
  /** Thrown after the parts of the first task. */
  failure?: ModelyardError
  early?: boolean
}

const CHAT = '/chat/completions'
const TEXTS = '/completions'
const VECTORS = '/embeddings'

/** Each becomes one file in `__fixtures__`: what came, what task it is, what goes back. */
const EXCHANGES: Exchange[] = [
  { title: 'chat', path: CHAT, body: { model: 'tiny', messages: [USER] }, parts: [TEXT] },
  {
    title: 'chat-stream',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], stream: true },
    parts: [TEXT],
  },
  {
    title: 'chat-stream-usage',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], stream: true, stream_options: { include_usage: true } },
    parts: [TEXT],
  },
  {
    title: 'chat-stream-usage-headers-early',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], stream: true, stream_options: { include_usage: true } },
    parts: [TEXT],
    early: true,
  },
  {
    title: 'chat-choices',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], n: 2, seed: 4_294_967_295 },
    parts: [TEXT, [STARTED, { type: 'text', text: 'Two' }]],
    results: [result(), result({ finishReason: 'length' })],
  },
  {
    title: 'chat-choices-stream',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], n: 2, stream: true, stream_options: { include_usage: true } },
    parts: [TEXT, [STARTED, { type: 'text', text: 'Two' }]],
    results: [result(), result({ finishReason: 'length' })],
  },
  {
    title: 'completion-choices',
    path: TEXTS,
    body: { model: 'tiny', prompt: ['One', 'Two'], n: 2, seed: 0 },
    parts: [TEXT, TEXT, TEXT, TEXT],
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
    parts: [TEXT],
    results: [result({ finishReason: 'length' })],
  },
  {
    title: 'chat-stop-sequence',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], stop: ['###', 'END'] },
    parts: [TEXT],
    results: [result({ finishReason: 'stop-sequence', stopSequence: 'END' })],
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
    parts: [TWO_CALLS],
    results: [result({ finishReason: 'tool-calls' })],
  },
  {
    title: 'chat-tools-stream',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], tools: [TOOL], stream: true },
    parts: [TWO_CALLS],
    results: [result({ finishReason: 'tool-calls' })],
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
    parts: [[STARTED, { type: 'text', text: 'Let me look.' }, ...TWO_CALLS.slice(1, 5)]],
    results: [result({ finishReason: 'tool-calls' })],
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
    parts: [TEXT],
  },
  {
    title: 'chat-reasoning',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], reasoning_effort: 'low' },
    parts: [THOUGHT],
    results: [THOUGHT_RESULT],
  },
  {
    title: 'chat-reasoning-stream',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], reasoning_effort: 'none', stream: true },
    parts: [THOUGHT],
    results: [THOUGHT_RESULT],
  },
  {
    title: 'chat-logprobs',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], logprobs: true, top_logprobs: 2 },
    parts: [LOGPROBS],
  },
  {
    title: 'chat-logprobs-stream',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], logprobs: true, stream: true },
    parts: [LOGPROBS],
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
    parts: [[STARTED, { type: 'text', text: '{}' }]],
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
    parts: [TEXT],
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
    parts: [TEXT],
  },
  {
    title: 'chat-stream-emoji-split',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], stream: true },
    parts: [[STARTED, { type: 'text', text: 'a\uD83D' }, { type: 'text', text: '\uDE38b' }]],
  },
  {
    title: 'chat-stream-fails',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], stream: true, stream_options: { include_usage: true } },
    parts: [TEXT],
    failure: new ModelyardError('worker_exited', 'The worker of model tiny ended while it answered.'),
  },
  {
    title: 'chat-empty-answer',
    path: CHAT,
    body: { model: 'tiny', messages: [USER], max_tokens: 0 },
    parts: [[STARTED]],
    results: [
      result({
        finishReason: 'length',
        usage: { promptTokens: 20, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
      }),
    ],
  },
  { title: 'completion', path: TEXTS, body: { model: 'tiny', prompt: 'Once' }, parts: [TEXT] },
  {
    title: 'completion-stream-usage',
    path: TEXTS,
    body: { model: 'tiny', prompt: 'Once', stream: true, stream_options: { include_usage: true } },
    parts: [TEXT],
  },
  {
    title: 'completion-several-prompts',
    path: TEXTS,
    body: { model: 'tiny', prompt: ['One', [1, 2, 3]], max_tokens: 0 },
    parts: [TEXT, [STARTED, { type: 'text', text: 'Two' }]],
    results: [result(), result({ finishReason: 'length' })],
  },
  {
    title: 'completion-several-prompts-stream',
    path: TEXTS,
    body: { model: 'tiny', prompt: ['One', 'Two'], stream: true, stream_options: { include_usage: true } },
    parts: [TEXT, [STARTED, { type: 'text', text: 'Two' }]],
    results: [result(), result({ finishReason: 'length' })],
  },
  {
    title: 'completion-infill-logprobs',
    path: TEXTS,
    body: { model: 'tiny', prompt: 'f(', suffix: ')', echo: false, logprobs: 2, stop: 'x' },
    parts: [LOGPROBS],
  },
  {
    title: 'completion-echo-logprobs',
    path: TEXTS,
    body: { model: 'tiny', prompt: 'So he', echo: true, logprobs: 1, max_tokens: 2 },
    parts: [ECHOED],
  },
  {
    title: 'completion-echo-logprobs-stream',
    path: TEXTS,
    body: { model: 'tiny', prompt: 'So he', echo: true, logprobs: 1, max_tokens: 2, stream: true },
    parts: [ECHOED],
  },
  {
    title: 'completion-logprobs-stream',
    path: TEXTS,
    body: { model: 'tiny', prompt: [9, 8], logprobs: 0, stream: true },
    parts: [LOGPROBS],
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
      [
        STARTED,
        { type: 'score', index: 0, score: 0.25 },
        { type: 'score', index: 1, score: 0.75 },
        { type: 'score', index: 2, score: 0.25 },
      ],
    ],
  },
  {
    title: 'score-pairs',
    path: '/score',
    body: { model: 'tiny', text_1: ['q', 'r'], text_2: ['a', 'b'] },
    parts: [
      [STARTED, { type: 'score', index: 0, score: 0.25 }],
      [STARTED, { type: 'score', index: 0, score: 0.75 }],
    ],
  },
  {
    title: 'embedding-float',
    path: VECTORS,
    body: { model: 'tiny', input: ['a', 'b'] },
    parts: [
      [
        STARTED,
        { type: 'vector', index: 1, vector: Float32Array.from([0, -1]) },
        { type: 'vector', index: 0, vector: Float32Array.from([0.5, 0.25]) },
      ],
    ],
  },
  {
    title: 'embedding-base64-dimensions',
    path: VECTORS,
    body: { model: 'tiny', input: [[1, 2], [3]], encoding_format: 'base64', dimensions: 2 },
    parts: [
      [
        STARTED,
        { type: 'vector', index: 0, vector: Float32Array.from([0.5, 0.25]) },
        { type: 'vector', index: 1, vector: Float32Array.from([0, -1]) },
      ],
    ],
  },
]

function decode({ path, body }: Exchange): RunAction {
  const request: DialectRequest = {
    params: {},
    headers: {},
    body,
    id: '0123456789abcdef',
    created: 1_700_000_000,
    query: '',
    now: () => 1_700_000_000_000,
  }
  const action = openAiDialect.routes.find((route) => route.path === path)?.decode(request)
  if (action?.type !== 'run') throw new Error(`${path} is no run`)
  return action
}

function answer(
  { parts = [], results = [], failure, early }: Exchange,
  { encoder, tasks }: RunAction,
): string {
  let text = ''
  for (const [index] of tasks.entries()) {
    for (const [place, part] of (parts[index] ?? []).entries()) {
      if (place === 0 && early) encoder.headersWentEarly?.()
      text += encoder.part(part, index)
    }
    if (failure !== undefined) return text + encoder.fail(failure, 503)
    text += encoder.end(results[index] ?? result(), index, INFO)
  }
  return text + encoder.finish()
}

function readable(text: string): string {
  return text.startsWith('{') ? JSON.stringify(JSON.parse(text), null, 2) : text
}

function bytesAsText(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? `bytes ${Buffer.from(value).toString('hex')}` : value
}

function transcript(exchange: Exchange): string {
  const action = decode(exchange)
  const { tasks, options, encoder } = action
  return [
    `POST /v1${exchange.path}`,
    JSON.stringify(exchange.body, null, 2),
    '\n--- tasks',
    JSON.stringify({ tasks, options }, bytesAsText, 2),
    `\n--- ${encoder.contentType}`,
    readable(answer(exchange, action)),
    '',
  ].join('\n')
}

describe('the OpenAI dialect, exchange by exchange', () => {
  it.each(EXCHANGES.map((exchange) => [exchange.title, exchange] as const))('%s', async (title, exchange) => {
    await expect(transcript(exchange)).toMatchFileSnapshot(`__fixtures__/${title}.txt`)
  })

  it.each(
    EXCHANGES.filter(({ body }) => body['stream'] === true).map(
      (exchange) => [exchange.title, exchange] as const,
    ),
  )('BR-01, BR-09: %s has one terminal event and shares id, created and model', (_title, exchange) => {
    const events = answer(exchange, decode(exchange))
      .split('\n\n')
      .filter((event) => event !== '')
    expect(events.pop()).toBe('data: [DONE]')
    const chunks = events.map((event) => JSON.parse(event.replace('data: ', '')) as Record<string, unknown>)
    const finished = chunks.filter((chunk) => JSON.stringify(chunk).includes('"finish_reason":"'))
    const failed = chunks.filter((chunk) => 'error' in chunk)
    expect(finished.length > 0 ? failed.length : failed.length - 1).toBe(0)
    const same = new Set(
      chunks.filter((chunk) => 'id' in chunk).map(({ id, created, model }) => [id, created, model].join(' ')),
    )
    expect([...same]).toEqual([expect.stringMatching(/^(chat)?cmpl-0123456789abcdef 1700000000 tiny$/)])
    const withUsage = chunks.filter(({ usage }) => usage !== null && usage !== undefined)
    const asked = (exchange.body['stream_options'] as { include_usage?: boolean } | undefined)?.include_usage
    expect(withUsage.length).toBe(asked && exchange.failure === undefined ? 1 : 0)
    const withoutChoices = chunks.filter(({ choices }) => Array.isArray(choices) && choices.length === 0)
    expect(withoutChoices).toEqual(withUsage)
  })
})
