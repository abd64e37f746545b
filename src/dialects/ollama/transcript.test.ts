import { describe, expect, it } from 'vitest'
import {
  answerText,
  decodeRun,
  EMOJI,
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
import { encodeConversation } from './conversation-code.ts'
import { ollamaDialect } from './ollama-dialect.ts'

const CHAT = '/chat'
const GENERATE = '/generate'
const USER = { role: 'user', content: 'Hi' }
const LINES = { model: 'tiny', messages: [USER] }
const WHOLE = { ...LINES, stream: false }
const TOOL = {
  type: 'function',
  function: { name: 'get_time', parameters: { type: 'object', properties: { zone: { type: 'string' } } } },
}
const TOOLS_DONE = result({ finishReason: 'tool-calls' })
const LOGPROBS: Part[] = [
  STARTED,
  { type: 'text', text: 'He', logprobs: [logprob('He', -0.25, [['He', -0.25], ['Ho', -1.5]])] }, // prettier-ignore
  { type: 'text', text: 'llo', logprobs: [logprob('llo', -0.125)] },
]
const VECTORS: Part[] = [
  STARTED,
  { type: 'vector', index: 1, vector: Float32Array.from([0, -1]) },
  { type: 'vector', index: 0, vector: Float32Array.from([0.5, 0.25]) },
]
const BEFORE = encodeConversation([
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Who are you?' },
  { role: 'assistant', content: 'A model 🙂.' },
])

const EXCHANGES: TranscriptExchange[] = [
  { title: 'chat', path: CHAT, body: WHOLE, parts: TEXT },
  { title: 'chat-lines', path: CHAT, body: LINES, parts: TEXT },
  {
    title: 'chat-options-of-zero',
    path: CHAT,
    body: {
      ...WHOLE,
      options: {
        temperature: 0,
        top_k: 0,
        top_p: 0,
        min_p: 0,
        seed: 0,
        presence_penalty: 0,
        frequency_penalty: 0,
        repeat_penalty: 1,
        num_predict: 0,
        num_keep: 0,
        num_gpu: 0,
        mirostat: 0,
      },
    },
    parts: [STARTED],
    result: result({
      finishReason: 'length',
      usage: { promptTokens: 20, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
    }),
  },
  {
    title: 'chat-length',
    path: CHAT,
    body: { ...LINES, options: { num_predict: 5, num_thread: 8, use_mmap: true } },
    parts: TEXT,
    result: result({ finishReason: 'length' }),
  },
  {
    title: 'chat-without-end',
    path: CHAT,
    body: { ...WHOLE, options: { num_predict: -1, seed: -1, top_k: -1, stop: 'END' } },
    parts: TEXT,
    result: result({ finishReason: 'stop-sequence', stopSequence: 'END' }),
  },
  {
    title: 'chat-tools',
    path: CHAT,
    body: { ...WHOLE, tools: [TOOL] },
    parts: TWO_CALLS,
    result: TOOLS_DONE,
  },
  {
    title: 'chat-tools-lines',
    path: CHAT,
    body: { ...LINES, tools: [TOOL] },
    parts: [STARTED, { type: 'text', text: 'Let me look.' }, ...TWO_CALLS.slice(1)],
    result: TOOLS_DONE,
  },
  {
    title: 'chat-tools-cut-lines',
    path: CHAT,
    body: { ...LINES, tools: [TOOL] },
    parts: TWO_CALLS.slice(0, 4),
    result: result({ finishReason: 'length' }),
  },
  {
    title: 'chat-tool-history',
    path: CHAT,
    body: {
      ...WHOLE,
      messages: [
        { role: 'System', content: 'Be short.' },
        { role: 'user', content: 'What time?' },
        {
          role: 'assistant',
          content: '',
          thinking: 'A tool knows.',
          tool_calls: [
            { function: { name: 'get_time', arguments: { zone: 'UTC' } } },
            { function: { name: 'get_date', arguments: {} } },
            { id: 'call_x', function: { name: 'get_time' } },
          ],
        },
        { role: 'tool', content: 'May', tool_name: 'get_date' },
        { role: 'tool', content: '12:00', tool_name: 'get_time' },
        { role: 'tool', content: '13:00', tool_call_id: 'call_x' },
        { role: 'assistant', content: null, tool_calls: [{ function: { name: 'get_year', arguments: {} } }] },
        { role: 'tool', content: '2026' },
      ],
      tools: [TOOL],
    },
    parts: TEXT,
  },
  { title: 'chat-thinking', path: CHAT, body: { ...WHOLE, think: true }, parts: THOUGHT },
  { title: 'chat-thinking-lines', path: CHAT, body: { ...LINES, think: 'low' }, parts: THOUGHT },
  {
    title: 'chat-thinking-json-lines',
    path: CHAT,
    body: { ...LINES, think: 'high', format: 'json' },
    parts: [...THOUGHT.slice(0, 3), { type: 'text', text: '{}' }],
  },
  {
    title: 'chat-json-schema',
    path: CHAT,
    body: { ...WHOLE, think: false, format: { type: 'object', properties: {} } },
    parts: [STARTED, { type: 'text', text: '{}' }],
  },
  {
    title: 'chat-image',
    path: CHAT,
    body: { ...WHOLE, messages: [{ role: 'user', content: 'What is it?', images: ['iVBORw=='] }] },
    parts: TEXT,
  },
  {
    title: 'chat-logprobs',
    path: CHAT,
    body: { ...WHOLE, logprobs: true, top_logprobs: 2 },
    parts: LOGPROBS,
  },
  { title: 'chat-logprobs-lines', path: CHAT, body: { ...LINES, logprobs: true }, parts: LOGPROBS },
  {
    title: 'chat-extensions',
    path: CHAT,
    body: { ...WHOLE, keep_alive: '5m', priority: 'background', session: 'thread-1', unheard_of: 1 },
    parts: TEXT,
  },
  { title: 'chat-lines-emoji-split', path: CHAT, body: LINES, parts: EMOJI },
  {
    title: 'chat-lines-fails',
    path: CHAT,
    body: LINES,
    parts: TEXT,
    failure: new ModelyardError('worker_exited', 'The worker of model tiny ended while it answered.'),
  },
  { title: 'chat-empty-answer-lines', path: CHAT, body: LINES, parts: [STARTED] },
  { title: 'generate', path: GENERATE, body: { model: 'tiny', prompt: 'Hi', stream: false }, parts: TEXT },
  {
    title: 'generate-lines',
    path: GENERATE,
    body: { model: 'tiny', prompt: 'Hi', system: 'Be kind.', template: '', images: [] },
    parts: TEXT,
  },
  {
    title: 'generate-context',
    path: GENERATE,
    body: { model: 'tiny', prompt: 'And then?', context: BEFORE, stream: false },
    parts: TEXT,
  },
  {
    title: 'generate-context-other-system',
    path: GENERATE,
    body: { model: 'tiny', prompt: 'And then?', context: BEFORE, system: 'Be loud.', stream: false },
    parts: TEXT,
  },
  {
    title: 'generate-raw-lines',
    path: GENERATE,
    body: {
      model: 'tiny',
      prompt: '<s>Hi',
      raw: true,
      think: false,
      options: { stop: ['\n'] },
      logprobs: true,
    },
    parts: LOGPROBS,
  },
  {
    title: 'generate-suffix',
    path: GENERATE,
    body: { model: 'tiny', prompt: 'f(', suffix: ')', stream: false },
    parts: TEXT,
  },
  {
    title: 'generate-thinking-lines',
    path: GENERATE,
    body: { model: 'tiny', prompt: 'Hi', think: 'medium', format: 'json' },
    parts: THOUGHT,
  },
  {
    title: 'generate-image',
    path: GENERATE,
    body: { model: 'tiny', prompt: '', images: ['/9j/4AA='], stream: false },
    parts: TEXT,
  },
  {
    title: 'embed',
    path: '/embed',
    body: { model: 'tiny', input: ['a', 'b'], truncate: false, dimensions: 2, keep_alive: 0 },
    parts: VECTORS,
  },
  {
    title: 'embeddings',
    path: '/embeddings',
    body: { model: 'tiny', prompt: 'a' },
    parts: VECTORS.filter((part) => part.type !== 'vector' || part.index === 0),
  },
]

const STREAMS = EXCHANGES.filter(
  ({ path, body }) => [CHAT, GENERATE].includes(path) && body['stream'] !== false,
)

describe('the Ollama dialect, exchange by exchange', () => {
  it.each(titled(EXCHANGES))('%s', async (title, exchange) => {
    await expect(transcript(ollamaDialect, exchange)).toMatchFileSnapshot(`__fixtures__/${title}.txt`)
  })

  it('arguments that a model writes over several lines do not break the line of their call', () => {
    const body = { model: 'tiny', messages: [{ role: 'user', content: 'Hi' }] }
    const parts: Part[] = [
      STARTED,
      { type: 'tool-call', index: 0, id: 'call_a', name: 'get_time' },
      { type: 'tool-call-arguments', index: 0, text: '{\n  "zone": "a\\nb",\r\n' },
      { type: 'tool-call-arguments', index: 0, text: '  "id": 12345678901234567890\n}' },
    ]
    const exchange = { title: '', path: CHAT, body, parts }
    const lines = answerText(ollamaDialect, exchange, decodeRun(ollamaDialect, CHAT, body))
      .trimEnd()
      .split('\n')
    expect(lines).toHaveLength(2)
    expect(lines[0]).toContain('"arguments":{   "zone": "a\\nb",   "id": 12345678901234567890 }')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ message: { tool_calls: [{ id: 'call_a' }] } })
  })

  it.each(titled(STREAMS))('BR-09: %s has one last line, and only that has numbers', (_title, exchange) => {
    const action = decodeRun(ollamaDialect, exchange.path, exchange.body)
    const text = answerText(ollamaDialect, exchange, action)
    expect(text.endsWith('\n')).toBe(true)
    const lines = text
      .trimEnd()
      .split('\n')
      .map((json) => JSON.parse(json) as Record<string, unknown>)
    const last = lines.pop()
    const isEnd = (line: Record<string, unknown> | undefined): boolean =>
      line?.['done'] === true &&
      typeof line['done_reason'] === 'string' &&
      typeof line['eval_count'] === 'number'
    expect(exchange.failure === undefined ? isEnd(last) : Object.keys(last ?? {})).toEqual(
      exchange.failure === undefined ? true : ['error'],
    )
    expect(lines.every((line) => line['done'] === false && !('eval_count' in line))).toBe(true)
    expect(new Set(lines.map(({ model }) => model)).size).toBeLessThan(2)
  })
})
