import { describe, expect, it } from 'vitest'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { Fields } from '../fields.ts'
import { decodeChatTask } from './decode-chat.ts'

const USER = { role: 'user', content: 'Hi' }

function decode(body: Fields): ChatTask {
  return decodeChatTask({ messages: [USER], max_tokens: 100, ...body })
}

/** The error's code and the field it names. */
function refusal(body: Fields): string {
  try {
    decode(body)
  } catch (error) {
    const { code, details } = error as { code: string; details: { param?: string } }
    return `${code} ${details.param}`
  }
  return 'accepted'
}

function refusedBlock(block: unknown, role = 'user'): string {
  return refusal({ messages: [{ role, content: [block] }] })
}

const TOOL = { name: 'look', input_schema: { type: 'object' } }
const AT = 'messages[0].content[0]'

describe('limits and sampling', () => {
  it('F27: zero is a value', () => {
    expect(decode({ max_tokens: 0, temperature: 0, top_p: 0, top_k: 0 })).toMatchObject({
      maxTokens: 0,
      sampling: { temperature: 0, topP: 0, topK: 0 },
    })
  })

  it.each([
    [{ max_tokens: undefined }, 'max_tokens'],
    [{ max_tokens: null }, 'max_tokens'],
    [{ max_tokens: -1 }, 'max_tokens'],
    [{ max_tokens: '5' }, 'max_tokens'],
    [{ max_tokens: 1.5 }, 'max_tokens'],
    [{ temperature: 1.01 }, 'temperature'],
    [{ temperature: '0' }, 'temperature'],
    [{ top_p: -0.1 }, 'top_p'],
    [{ top_k: -1 }, 'top_k'],
    [{ top_k: 1.5 }, 'top_k'],
  ])('BR-06: %j is a 400 that names it', (body, param) => {
    expect(refusal(body)).toBe(`invalid_request ${param}`)
  })
})

describe('stop sequences (BR-41)', () => {
  it.each([
    [undefined, []],
    [null, []],
    [[], []],
    [
      ['a', 'ab', 'a b', ' ', '\n'],
      ['a', 'ab', 'a b', ' ', '\n'],
    ],
  ])('%j', (value, stops) => {
    expect(decode({ stop_sequences: value }).stop).toEqual(stops)
  })

  it.each([
    ['END', 'stop_sequences'],
    [['END', ''], 'stop_sequences[1]'],
    [[5], 'stop_sequences[0]'],
    [Array.from({ length: 257 }, () => 'x'), 'stop_sequences'],
  ])('%j is a 400', (value, param) => {
    expect(refusal({ stop_sequences: value })).toBe(`invalid_request ${param}`)
  })
})

describe('messages', () => {
  it.each([
    [{ messages: undefined }, 'messages'],
    [{ messages: [] }, 'messages'],
    [{ messages: {} }, 'messages'],
    [{ messages: ['Hi'] }, 'messages[0]'],
    [{ messages: [{ content: 'Hi' }] }, 'messages[0].role'],
    [{ messages: [USER, { role: 'banana', content: 'Hi' }] }, 'messages[1].role'],
    [{ messages: [{ role: 'tool', content: 'Hi' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content'],
    [{ messages: [{ role: 'user', content: null }] }, 'messages[0].content'],
    [{ messages: [{ role: 'user', content: ['Hi'] }] }, AT],
    [{ system: 5 }, 'system'],
    [{ system: [{ type: 'image' }] }, 'system[0].type'],
    [{ system: [{ type: 'text' }] }, 'system[0].text'],
  ])('BR-05: %j is a 400 that names it', (body, param) => {
    expect(refusal(body)).toBe(`invalid_request ${param}`)
  })

  it.each([
    [undefined, undefined],
    [null, undefined],
    [[], undefined],
    ['', ''],
    ['Be brief.', 'Be brief.'],
    [
      [
        { type: 'text', text: 'Be' },
        { type: 'text', text: 'brief.' },
      ],
      'Be\nbrief.',
    ],
  ])('system %j', (system, content) => {
    const [first] = decode({ system }).messages
    expect(first?.role === 'system' ? first.content : undefined).toBe(content)
  })

  it('system messages among the others keep their place', () => {
    const messages = [USER, { role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Go on' }]
    expect(decode({ messages }).messages.map(({ role }) => role)).toEqual(['user', 'system', 'user'])
  })

  it('turns of one side that follow each other are one turn, calls and thoughts included', () => {
    const call = (id: string): Fields => ({ type: 'tool_use', id, name: 'look', input: {} })
    const messages = [
      USER,
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'A', signature: '' }, call('1')] },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'B', signature: '' }, call('2')] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: '2' }] },
    ]
    expect(decode({ messages }).messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: '',
        reasoning: 'AB',
        toolCalls: [
          { id: '1', name: 'look', arguments: '{}' },
          { id: '2', name: 'look', arguments: '{}' },
        ],
      },
      { role: 'tool', content: '', toolCallId: '2', name: 'look' },
    ])
  })

  it.each([
    [true, 'no such file', 'Error: no such file'],
    [true, 'ERROR 5', 'ERROR 5'],
    [true, undefined, 'Error'],
    [true, [], 'Error'],
    [false, 'fine', 'fine'],
    [undefined, [{ type: 'text', text: 'fine' }], 'fine'],
  ])('a result with is_error %j and content %j', (is_error, content, text) => {
    const result = { type: 'tool_result', tool_use_id: 'x', is_error, content }
    expect(decode({ messages: [{ role: 'user', content: [result] }] }).messages).toEqual([
      { role: 'tool', content: text, toolCallId: 'x' },
    ])
  })

  it('a failed result with an image keeps both', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const result = { type: 'tool_result', tool_use_id: 'x', is_error: true, content: [image] }
    expect(decode({ messages: [{ role: 'user', content: [result] }] }).messages).toEqual([
      {
        role: 'tool',
        toolCallId: 'x',
        content: [
          { type: 'text', text: 'Error: ' },
          { type: 'image', mediaType: 'image/png', data: new Uint8Array(3) },
        ],
      },
    ])
  })
})

describe('blocks', () => {
  const image = (source: unknown): unknown => ({ type: 'image', source })
  const document = (source: unknown, more: Fields = {}): unknown => ({ type: 'document', source, ...more })
  const TEXT = { type: 'text', media_type: 'text/plain', data: 'x' }

  it.each([
    [{ type: 5 }, `invalid_request ${AT}.type`],
    [{}, `invalid_request ${AT}.type`],
    [{ type: 'text' }, `invalid_request ${AT}.text`],
    [{ type: 'text', text: 'x', cache_control: 5 }, `invalid_request ${AT}.cache_control`],
    [image(undefined), `invalid_request ${AT}.source`],
    [image({ type: 'base64', data: 'AAAA' }), `invalid_request ${AT}.source.media_type`],
    [
      image({ type: 'base64', media_type: 'text/html', data: 'AAAA' }),
      `invalid_request ${AT}.source.media_type`,
    ],
    [image({ type: 'base64', media_type: 'image/png', data: '' }), `invalid_request ${AT}.source.data`],
    [image({ type: 'base64', media_type: 'image/png', data: '*' }), `invalid_request ${AT}.source.data`],
    [image({ type: 'url', url: 'http://127.0.0.1/x' }), `invalid_request ${AT}.source`],
    [image({ type: 'file', file_id: 'x' }), `unsupported ${AT}.source`],
    [image({ type: 'banana' }), `invalid_request ${AT}.source.type`],
    [document({ type: 'base64', media_type: 'application/pdf', data: 'AAAA' }), `unsupported ${AT}.source`],
    [document({ type: 'url', url: 'https://example.com' }), `invalid_request ${AT}.source`],
    [
      document({ type: 'content', content: [{ type: 'tool_use' }] }),
      `invalid_request ${AT}.source.content[0].type`,
    ],
    [document(TEXT, { citations: { enabled: true } }), `unsupported ${AT}.citations`],
    [document(TEXT, { title: 5 }), `invalid_request ${AT}.title`],
    [{ type: 'search_result', source: 'x', content: [] }, `invalid_request ${AT}.title`],
    [{ type: 'tool_use', id: 'x', name: 'y', input: {} }, `invalid_request ${AT}.type`],
    [{ type: 'thinking', thinking: 'x' }, `invalid_request ${AT}.type`],
    [{ type: 'tool_result' }, `invalid_request ${AT}.tool_use_id`],
    [{ type: 'tool_result', tool_use_id: 'x', is_error: 'no' }, `invalid_request ${AT}.is_error`],
    [{ type: 'tool_result', tool_use_id: 'x', content: 5 }, `invalid_request ${AT}.content`],
    [{ type: 'web_search_tool_result' }, `unsupported ${AT}.type`],
    [document(TEXT, { citations: { enabled: false } }), 'accepted'],
    [document({ type: 'content', content: 'x' }), 'accepted'],
  ])('of the user: %j', (block, outcome) => {
    expect(refusedBlock(block)).toBe(outcome)
  })

  it.each([
    [image({ type: 'base64', media_type: 'image/png', data: 'AAAA' }), `invalid_request ${AT}.type`],
    [{ type: 'tool_result', tool_use_id: 'x' }, `invalid_request ${AT}.type`],
    [{ type: 'tool_use', name: 'y', input: {} }, `invalid_request ${AT}.id`],
    [{ type: 'tool_use', id: 'x', name: 'y', input: '{}' }, `invalid_request ${AT}.input`],
    [{ type: 'thinking' }, `invalid_request ${AT}.thinking`],
    [{ type: 'redacted_thinking' }, `invalid_request ${AT}.data`],
    [{ type: 'server_tool_use', id: 'x', name: 'web_search', input: {} }, `unsupported ${AT}.type`],
  ])('of the assistant: %j', (block, outcome) => {
    expect(refusedBlock(block, 'assistant')).toBe(outcome)
  })
})

describe('tools', () => {
  it.each([
    [{ type: 'auto' }, 'auto', undefined],
    [{ type: 'any' }, 'required', undefined],
    [{ type: 'none' }, 'none', undefined],
    [{ type: 'tool', name: 'look' }, { name: 'look' }, undefined],
    [{ type: 'any', disable_parallel_tool_use: true }, 'required', false],
    [{ type: 'any', disable_parallel_tool_use: false }, 'required', undefined],
    [undefined, undefined, undefined],
  ])('tool_choice %j', (tool_choice, mode, parallel) => {
    const { toolChoice, parallelToolCalls } = decode({ tools: [TOOL], tool_choice })
    expect([toolChoice, parallelToolCalls]).toEqual([mode, parallel])
  })

  it.each([
    [{ tools: {} }, 'invalid_request tools'],
    [{ tools: [{ name: 'x' }] }, 'invalid_request tools[0].input_schema'],
    [{ tools: [{ input_schema: {} }] }, 'invalid_request tools[0].name'],
    [{ tools: [{ ...TOOL, name: '' }] }, 'invalid_request tools[0].name'],
    [{ tools: [TOOL, TOOL] }, 'invalid_request tools[1].name'],
    [{ tools: [{ ...TOOL, strict: 'yes' }] }, 'invalid_request tools[0].strict'],
    [{ tools: [{ ...TOOL, defer_loading: true }] }, 'unsupported tools[0].defer_loading'],
    [
      { tools: [{ ...TOOL, allowed_callers: ['code_execution_20260120'] }] },
      'unsupported tools[0].allowed_callers',
    ],
    [{ tools: [{ type: 'web_search_20260318', name: 'web_search' }] }, 'unsupported tools[0].type'],
    [{ tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'unsupported tools[0].type'],
    [{ tools: [TOOL], tool_choice: 'auto' }, 'invalid_request tool_choice'],
    [{ tools: [TOOL], tool_choice: { type: 'required' } }, 'invalid_request tool_choice.type'],
    [{ tools: [TOOL], tool_choice: {} }, 'invalid_request tool_choice.type'],
    [{ tools: [TOOL], tool_choice: { type: 'tool' } }, 'invalid_request tool_choice.name'],
    [{ tools: [TOOL], tool_choice: { type: 'tool', name: 'other' } }, 'invalid_request tool_choice.name'],
    [{ tool_choice: { type: 'any' } }, 'invalid_request tool_choice'],
    [{ tools: [], tool_choice: { type: 'auto' } }, 'accepted'],
    [{ tools: [{ ...TOOL, type: null, eager_input_streaming: true, input_examples: [{}] }] }, 'accepted'],
  ])('%j: %s', (body, outcome) => {
    expect(refusal(body)).toBe(outcome)
  })
})

describe('thinking and format', () => {
  it.each([
    [undefined, undefined],
    [{ type: 'disabled' }, { enabled: false }],
    [{ type: 'adaptive' }, undefined],
    [
      { type: 'enabled', budget_tokens: 1024 },
      { enabled: true, budget: 1024 },
    ],
  ])('thinking %j', (thinking, reasoning) => {
    expect(decode({ max_tokens: 2000, thinking }).reasoning).toEqual(reasoning)
  })

  it.each([
    [{ thinking: 'enabled' }, 'thinking'],
    [{ thinking: {} }, 'thinking.type'],
    [{ thinking: { type: 'banana' } }, 'thinking.type'],
    [{ thinking: { type: 'enabled' } }, 'thinking.budget_tokens'],
    [{ thinking: { type: 'enabled', budget_tokens: 1023 }, max_tokens: 5000 }, 'thinking.budget_tokens'],
    [{ thinking: { type: 'enabled', budget_tokens: 2000 }, max_tokens: 2000 }, 'thinking.budget_tokens'],
    [{ thinking: { type: 'adaptive', display: 'loud' } }, 'thinking.display'],
    [{ output_config: { effort: 'banana' } }, 'output_config.effort'],
    [{ output_config: { format: {} } }, 'output_config.format.type'],
    [{ output_config: { format: { type: 'json_object' } } }, 'output_config.format.type'],
    [{ output_config: { format: { type: 'json_schema' } } }, 'output_config.format.schema'],
    [{ output_format: { type: 'json_schema', schema: 123 } }, 'output_format.schema'],
  ])('BR-08: %j is a 400', (body, param) => {
    expect(refusal(body)).toBe(`invalid_request ${param}`)
  })

  it('the older place of a format is read too', () => {
    const output_format = { type: 'json_schema', schema: { type: 'object' } }
    expect(decode({ output_format }).format).toEqual({
      type: 'json-schema',
      name: 'output',
      schema: { type: 'object' },
      strict: true,
    })
  })
})
