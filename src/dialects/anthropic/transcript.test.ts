import { describe, expect, it } from 'vitest'
import {
  answerText,
  decodeRun,
  EMOJI,
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
import { anthropicDialect } from './anthropic-dialect.ts'

const PATH = '/messages'
const USER = { role: 'user', content: 'Hi' }
const BASE = { model: 'tiny', max_tokens: 100, messages: [USER] }
const STREAM = { ...BASE, stream: true }
const TOOL = {
  name: 'get_time',
  description: 'Tells the time.',
  input_schema: { type: 'object', properties: { zone: { type: 'string' } } },
}
const TOOLS_DONE = result({ finishReason: 'tool-calls' })
const THOUGHT_DONE = result({
  usage: { promptTokens: 20, cachedTokens: 16, completionTokens: 5, reasoningTokens: 3 },
})
const EVERYTHING: Part[] = [
  STARTED,
  { type: 'reasoning', text: 'First I think.' },
  { type: 'text', text: 'Let me look.' },
  { type: 'tool-call', index: 0, id: 'call_a', name: 'get_time' },
  { type: 'tool-call-arguments', index: 0, text: '{"zone":"UTC"}' },
  { type: 'reasoning', text: 'Once more.' },
  { type: 'tool-call', index: 1, id: 'call_b', name: 'get_time' },
]

const HISTORY = [
  { role: 'user', content: [{ type: 'text', text: 'What time?', cache_control: { type: 'ephemeral' } }] },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'A tool knows.', signature: 'abc' },
      { type: 'redacted_thinking', data: 'xyz' },
      { type: 'text', text: 'Let me look.' },
      { type: 'tool_use', id: 'call_a', name: 'get_time', input: { zone: 'UTC' } },
      { type: 'tool_use', id: 'call_b', name: 'get_time', input: {} },
      { type: 'tool_use', id: 'call_c', name: 'get_time', input: {} },
    ],
  },
  {
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: 'call_a', content: '12:00' },
      { type: 'tool_result', tool_use_id: 'call_b', content: 'no such zone', is_error: true },
      {
        type: 'tool_result',
        tool_use_id: 'call_c',
        content: [
          { type: 'text', text: '13' },
          { type: 'text', text: '00' },
        ],
      },
      { type: 'text', text: 'And now?' },
    ],
  },
]

const EXCHANGES: TranscriptExchange[] = [
  { title: 'message', path: PATH, body: BASE, parts: TEXT },
  { title: 'message-stream', path: PATH, body: STREAM, parts: TEXT },
  { title: 'message-stream-headers-early', path: PATH, body: STREAM, parts: TEXT, early: true },
  {
    title: 'message-length',
    path: PATH,
    body: { ...BASE, max_tokens: 5, temperature: 0, top_p: 0, top_k: 0 },
    parts: TEXT,
    result: result({ finishReason: 'length' }),
  },
  {
    title: 'message-stop-sequence',
    path: PATH,
    body: { ...BASE, stop_sequences: ['###', 'END'] },
    parts: TEXT,
    result: result({ finishReason: 'stop-sequence', stopSequence: 'END' }),
  },
  {
    title: 'message-stop-sequence-stream',
    path: PATH,
    body: { ...STREAM, stop_sequences: ['"\n'] },
    parts: TEXT,
    result: result({ finishReason: 'stop-sequence', stopSequence: '"\n' }),
  },
  {
    title: 'message-system-blocks',
    path: PATH,
    body: {
      ...BASE,
      system: [
        { type: 'text', text: 'You are brief.' },
        { type: 'text', text: 'You are kind.', cache_control: { type: 'ephemeral', ttl: '1h' } },
      ],
      messages: [
        { role: 'user', content: 'One' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Two' },
            { type: 'text', text: 'Three' },
          ],
        },
        { role: 'assistant', content: 'Fo' },
        { role: 'assistant', content: [{ type: 'text', text: 'ur' }] },
        USER,
      ],
    },
    parts: TEXT,
  },
  {
    title: 'message-prefill',
    path: PATH,
    body: { ...BASE, system: '', messages: [USER, { role: 'assistant', content: 'Sure: ' }] },
    parts: TEXT,
  },
  {
    title: 'message-tools',
    path: PATH,
    body: { ...BASE, tools: [TOOL], tool_choice: { type: 'any' } },
    parts: TWO_CALLS,
    result: TOOLS_DONE,
  },
  {
    title: 'message-tools-stream',
    path: PATH,
    body: { ...STREAM, tools: [TOOL], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    parts: TWO_CALLS,
    result: TOOLS_DONE,
  },
  {
    title: 'message-tool-named',
    path: PATH,
    body: {
      ...BASE,
      tools: [{ ...TOOL, type: 'custom', strict: true }],
      tool_choice: { type: 'tool', name: 'get_time' },
    },
    parts: TWO_CALLS.slice(0, 5),
    result: TOOLS_DONE,
  },
  {
    title: 'message-tools-cut',
    path: PATH,
    body: { ...BASE, tools: [TOOL], tool_choice: { type: 'none' } },
    parts: TWO_CALLS.slice(0, 4),
    result: result({ finishReason: 'length' }),
  },
  {
    title: 'message-tool-history',
    path: PATH,
    body: { ...BASE, messages: HISTORY, tools: [TOOL] },
    parts: TEXT,
  },
  {
    title: 'message-thinking',
    path: PATH,
    body: { ...BASE, max_tokens: 4096, thinking: { type: 'enabled', budget_tokens: 1024 } },
    parts: THOUGHT,
    result: THOUGHT_DONE,
  },
  {
    title: 'message-thinking-stream',
    path: PATH,
    body: { ...STREAM, thinking: { type: 'adaptive' } },
    parts: THOUGHT,
    result: THOUGHT_DONE,
  },
  {
    title: 'message-thinking-omitted-stream',
    path: PATH,
    body: { ...STREAM, thinking: { type: 'adaptive', display: 'omitted' } },
    parts: THOUGHT,
    result: THOUGHT_DONE,
  },
  {
    title: 'message-thinking-disabled',
    path: PATH,
    body: { ...BASE, thinking: { type: 'disabled' } },
    parts: TEXT,
  },
  {
    title: 'message-blocks',
    path: PATH,
    body: { ...BASE, tools: [TOOL] },
    parts: EVERYTHING,
    result: TOOLS_DONE,
  },
  {
    title: 'message-blocks-stream',
    path: PATH,
    body: { ...STREAM, tools: [TOOL] },
    parts: EVERYTHING,
    result: TOOLS_DONE,
  },
  {
    title: 'message-image',
    path: PATH,
    body: {
      ...BASE,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw==' } },
            { type: 'text', text: 'What is it?' },
          ],
        },
      ],
    },
    parts: TEXT,
  },
  {
    title: 'message-documents',
    path: PATH,
    body: {
      ...BASE,
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'document',
              title: 'Notes',
              context: 'From May',
              source: { type: 'text', media_type: 'text/plain', data: 'It rained.' },
            },
            {
              type: 'document',
              source: { type: 'content', content: [{ type: 'text', text: 'It snowed.' }] },
            },
            {
              type: 'search_result',
              title: 'Weather',
              source: 'https://example.com',
              content: [{ type: 'text', text: 'Sunny.' }],
            },
            { type: 'text', text: 'What was the weather?' },
          ],
        },
      ],
    },
    parts: TEXT,
  },
  {
    title: 'message-json-schema',
    path: PATH,
    body: {
      ...BASE,
      output_config: {
        effort: 'low',
        format: { type: 'json_schema', schema: { type: 'object', properties: {} } },
      },
    },
    parts: [STARTED, { type: 'text', text: '{}' }],
  },
  {
    title: 'message-extensions',
    path: PATH,
    body: {
      ...BASE,
      metadata: { user_id: 'ann' },
      service_tier: 'auto',
      context_management: { edits: [] },
      cache_control: { type: 'ephemeral' },
      keep_alive: '5m',
      priority: 'background',
      session: 'thread-1',
      unheard_of: 1,
    },
    parts: TEXT,
  },
  { title: 'message-stream-emoji-split', path: PATH, body: STREAM, parts: EMOJI },
  {
    title: 'message-stream-fails',
    path: PATH,
    body: STREAM,
    parts: TEXT,
    failure: new ModelyardError('worker_exited', 'The worker of model tiny ended while it answered.'),
  },
  {
    title: 'message-empty-answer',
    path: PATH,
    body: { ...BASE, max_tokens: 0 },
    parts: [STARTED],
    result: result({
      finishReason: 'length',
      usage: { promptTokens: 20, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
    }),
  },
  { title: 'message-empty-answer-stream', path: PATH, body: STREAM, parts: [STARTED] },
]

interface Event {
  name: string
  data: Record<string, unknown> & { index?: number; type: string }
}

function eventsOf(exchange: TranscriptExchange): Event[] {
  const action = decodeRun(anthropicDialect, exchange.path, exchange.body)
  const text = answerText(anthropicDialect, exchange, action)
  const events = text.split('\n\n').filter((event) => event !== '')
  return events.map((event) => {
    const [, name = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? []
    return { name, data: JSON.parse(data) as Event['data'] }
  })
}

/** Blocks in the order of their starts. @throws for an event that does not belong to the one block that is open */
function blocksOf(events: Event[]): { index: number | undefined; closed: boolean }[] {
  const blocks: { index: number | undefined; closed: boolean }[] = []
  for (const { name, data } of events) {
    const last = blocks.at(-1)
    const open = last?.closed === false ? last : undefined
    if (name === 'content_block_start' && open === undefined) {
      blocks.push({ index: data.index, closed: false })
    } else if (open === undefined || data.index !== open.index) {
      throw new Error(`${name} ${data.index} while ${open?.index ?? 'no'} block is open`)
    } else if (name === 'content_block_stop') open.closed = true
  }
  return blocks
}

const STREAMS = EXCHANGES.filter(({ body }) => body['stream'] === true)

describe('the Anthropic dialect, exchange by exchange', () => {
  it.each(titled(EXCHANGES))('%s', async (title, exchange) => {
    await expect(transcript(anthropicDialect, exchange)).toMatchFileSnapshot(`__fixtures__/${title}.txt`)
  })

  it.each(titled(STREAMS))(
    'H2, BR-42, BR-09: %s has its events in order, one open block at a time and one terminal event',
    (_title, exchange) => {
      const events = eventsOf(exchange)
      expect(events.every(({ name, data }) => name === data.type)).toBe(true)
      const names = events.map(({ name }) => name)
      expect(names[0]).toBe('message_start')
      const end = exchange.failure === undefined ? ['message_delta', 'message_stop'] : ['error']
      expect(names.slice(-end.length)).toEqual(end)
      const blocks = blocksOf(events.slice(1, -end.length))
      expect(blocks.map(({ index }) => index)).toEqual(blocks.map((_, index) => index))
      expect(blocks.slice(0, -1).every(({ closed }) => closed)).toBe(true)
      expect(blocks.at(-1)?.closed ?? true).toBe(exchange.failure === undefined)
    },
  )

  it('BR-42: arguments for a call that has ended break the stream instead of going to another block', () => {
    const { encoder } = decodeRun(anthropicDialect, PATH, STREAM)
    for (const part of TWO_CALLS) encoder.part(part, 0)
    expect(() => encoder.part({ type: 'tool-call-arguments', index: 0, text: '}' }, 0)).toThrow('call 0')
  })
})
