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
import { openAiDialect } from '../openai/openai-dialect.ts'

const PARAMETERS = { type: 'object', properties: { zone: { type: 'string' } } }
const TOOL = { type: 'function', name: 'get_time', description: 'Tells it.', parameters: PARAMETERS }
const FORMAT = { type: 'json_schema', name: 'answer', strict: true, schema: { type: 'object' } }
const CALLED = result({ finishReason: 'tool-calls' })
const CUT = result({ finishReason: 'length' })
const LOGPROBS: Part[] = [
  STARTED,
  { type: 'text', text: 'He', logprobs: [logprob('He', -0.25, [['He', -0.25], ['Ho', -1.5]])] }, // prettier-ignore
  { type: 'text', text: 'llo', logprobs: [logprob('llo', -0.125)] },
]
const THOUGHT_AND_CALL: Part[] = [...THOUGHT, ...TWO_CALLS.slice(1, 5)]
const FAILURE = new ModelyardError('worker_exited', 'The worker of model tiny ended while it answered.')

interface Given {
  title: string
  body?: Record<string, unknown>
  parts?: Part[]
}

function exchange({
  title,
  body,
  parts = TEXT,
  ...more
}: Given & Partial<TranscriptExchange>): TranscriptExchange {
  return { title, path: '/responses', body: { model: 'tiny', input: 'Hi', ...body }, parts, ...more }
}

/** Each becomes one file in `__fixtures__`: what came, what task it is, what goes back. */
const EXCHANGES: TranscriptExchange[] = [
  exchange({ title: 'response' }),
  exchange({ title: 'response-stream', body: { stream: true } }),
  exchange({ title: 'response-stream-headers-early', body: { stream: true }, early: true }),
  exchange({
    title: 'response-settings',
    body: {
      instructions: 'Be short.',
      max_output_tokens: 0,
      temperature: 0,
      top_p: 0.5,
      seed: 0,
      metadata: { thread: '7' },
      store: false,
      user: 'ann',
      truncation: 'disabled',
      service_tier: 'auto',
      keep_alive: '5m',
      session: 'thread-1',
      unheard_of: 1,
    },
    parts: [STARTED],
    result: CUT,
  }),
  exchange({ title: 'response-length', body: { max_output_tokens: 5 }, result: CUT }),
  exchange({ title: 'response-length-stream', body: { max_output_tokens: 5, stream: true }, result: CUT }),
  exchange({
    title: 'response-messages',
    body: {
      input: [
        { role: 'developer', content: 'Be short.' },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What ' }, { type: 'input_text', text: 'time?' }] },
        { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content: [{ type: 'output_text', text: 'Noon.', annotations: [] }] },
        { role: 'user', content: 'Sure?' },
      ],
    },
  }), // prettier-ignore
  exchange({
    title: 'response-image',
    body: {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is it?' },
            { type: 'input_image', image_url: 'data:image/png;base64,iVBORw==', detail: 'low' },
          ],
        },
      ],
    },
  }),
  exchange({
    title: 'response-tools',
    body: { tools: [TOOL], tool_choice: 'required', parallel_tool_calls: true },
    parts: TWO_CALLS,
    result: CALLED,
  }),
  exchange({ title: 'response-tools-stream', body: { tools: [TOOL], stream: true }, parts: TWO_CALLS, result: CALLED }),
  exchange({
    title: 'response-tool-named',
    body: { tools: [{ ...TOOL, strict: true }], tool_choice: { type: 'function', name: 'get_time' } },
    parts: TWO_CALLS.slice(0, 5),
    result: CALLED,
  }),
  exchange({
    title: 'response-tools-allowed',
    body: {
      tools: [TOOL, { type: 'function', name: 'get_date', parameters: null, strict: null }],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'get_date' }] },
    },
  }),
  exchange({
    title: 'response-tool-history',
    body: {
      tools: [TOOL],
      input: [
        { role: 'user', content: 'What time?' },
        { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'I need a clock.' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Let me look.' }] },
        { type: 'function_call', id: 'fc_1', call_id: 'call_a', name: 'get_time', arguments: '{"zone":"UTC"}', status: 'completed' },
        { type: 'function_call', call_id: 'call_b', name: 'get_time', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_a', output: '12:00' },
        { type: 'function_call_output', call_id: 'call_b', output: [{ type: 'input_text', text: '13:00' }] },
        { role: 'user', content: 'And then?' },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'They ask for more.' }], encrypted_content: null },
        { type: 'function_call', call_id: 'call_c', name: 'get_time', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_c', output: '' },
      ],
    },
  }), // prettier-ignore
  exchange({ title: 'response-tools-cut-stream', body: { tools: [TOOL], stream: true }, parts: TWO_CALLS.slice(0, 3), result: CUT }),
  exchange({ title: 'response-reasoning', body: { reasoning: { effort: 'low', summary: 'auto' } }, parts: THOUGHT }),
  exchange({ title: 'response-reasoning-stream', body: { reasoning: { effort: 'none' }, stream: true }, parts: THOUGHT }),
  exchange({
    title: 'response-reasoning-text-call-stream',
    body: { tools: [TOOL], stream: true, include: ['reasoning.encrypted_content'] },
    parts: THOUGHT_AND_CALL,
    result: CALLED,
  }),
  exchange({
    title: 'response-logprobs',
    body: { include: ['message.output_text.logprobs'], top_logprobs: 2 },
    parts: LOGPROBS,
  }),
  exchange({
    title: 'response-logprobs-stream',
    body: { include: ['message.output_text.logprobs'], stream: true },
    parts: LOGPROBS,
  }),
  exchange({
    title: 'response-json-schema',
    body: { text: { format: FORMAT, verbosity: 'medium' } },
    parts: [STARTED, { type: 'text', text: '{}' }],
  }),
  exchange({ title: 'response-json-object', body: { text: { format: { type: 'json_object' } } } }),
  exchange({ title: 'response-stream-emoji-split', body: { stream: true }, parts: EMOJI }),
  exchange({ title: 'response-stream-fails', body: { stream: true }, failure: FAILURE }),
  exchange({ title: 'response-stream-fails-at-once', body: { stream: true }, parts: [], failure: FAILURE }),
  exchange({ title: 'response-empty-answer', parts: [STARTED] }),
  exchange({ title: 'response-empty-answer-stream', body: { stream: true }, parts: [STARTED] }),
] // prettier-ignore

function eventsOf(one: TranscriptExchange): Record<string, unknown>[] {
  const text = answerText(openAiDialect, one, decodeRun(openAiDialect, one.path, one.body))
  return text
    .trimEnd()
    .split('\n\n')
    .map((event) => {
      const [, name, json = ''] = /^event: (.*)\ndata: (.*)$/.exec(event) ?? []
      const data = JSON.parse(json) as Record<string, unknown>
      expect(data['type']).toBe(name)
      return data
    })
}

const TERMINAL = ['response.completed', 'response.incomplete', 'response.failed']

describe('the Responses API, exchange by exchange', () => {
  it.each(titled(EXCHANGES))('%s', async (title, one) => {
    await expect(transcript(openAiDialect, one)).toMatchFileSnapshot(`__fixtures__/${title}.txt`)
  })

  describe.each(titled(EXCHANGES.filter(({ body }) => body['stream'] === true)))('%s', (_title, one) => {
    it('BR-09, H5: begins with created and in_progress and has one terminal event, at its end', () => {
      const events = eventsOf(one)
      expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress'])
      expect(events.filter(({ type }) => TERMINAL.includes(type as string))).toEqual([events.at(-1)])
      expect(events.map((event) => event['sequence_number'])).toEqual([...events.keys()])
    })

    it('BR-42: has one item open at a time, and its last event holds what the events say', () => {
      const events = eventsOf(one)
      const steps = events.map(({ type }) => type).filter((type) => String(type).includes('output_item'))
      expect(steps).toEqual(
        steps.map((_, place) => `response.output_item.${place % 2 === 0 ? 'added' : 'done'}`),
      )
      const items = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
      expect(events.at(-1)).toMatchObject({ response: { output: items } })
    })
  })

  it.each(['response', 'response-tools', 'response-reasoning', 'response-logprobs'])(
    '%s: the streamed response is the one in one piece',
    (title) => {
      const one = EXCHANGES.find((candidate) => candidate.title === title) as TranscriptExchange
      const whole = answerText(openAiDialect, one, decodeRun(openAiDialect, one.path, one.body))
      const streamed = eventsOf({ ...one, body: { ...one.body, stream: true } }).at(-1)?.['response']
      expect(streamed).toEqual(JSON.parse(whole))
    },
  )
})
