import { describe, expect, it } from 'vitest'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { Fields } from '../fields.ts'
import { decodeChatTask } from './decode-chat.ts'

const USER = { role: 'user', content: 'Hi' }

function decode(body: Fields): ChatTask {
  return decodeChatTask({ messages: [USER], ...body })
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

const TOOL = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }

describe('limits on tokens (BR-06)', () => {
  it.each([
    [{ max_completion_tokens: 5 }, 5],
    [{ max_tokens: 7 }, 7],
    [{ max_completion_tokens: 5, max_tokens: 900 }, 5],
    [{ max_completion_tokens: 0, max_tokens: 900 }, 0],
    [{ max_completion_tokens: null, max_tokens: 7 }, 7],
    [{ max_completion_tokens: 1e9 }, 1e9],
    [{}, undefined],
  ])('%j gives %j', (body, tokens) => {
    expect(decode(body).maxTokens).toBe(tokens)
  })

  it.each([-1, '5', 1.5, 1e300, true, []])('max_completion_tokens %j is a 400 that names it', (value) => {
    expect(refusal({ max_completion_tokens: value })).toBe('invalid_request max_completion_tokens')
  })

  it('checks the older field even where the newer one wins', () => {
    expect(refusal({ max_completion_tokens: 5, max_tokens: -1 })).toBe('invalid_request max_tokens')
  })
})

describe('sampling', () => {
  it('F27: zero is a value', () => {
    const zeros = {
      temperature: 0,
      top_p: 0,
      seed: 0,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_k: 0,
      min_p: 0,
    }
    expect(decode(zeros).sampling).toEqual({
      temperature: 0,
      topP: 0,
      seed: 0,
      presencePenalty: 0,
      frequencyPenalty: 0,
      topK: 0,
      minP: 0,
    })
  })

  it('takes null for absent', () => {
    expect(decode({ temperature: null, seed: null, stop: null, logit_bias: null }).sampling).toEqual({})
  })

  it.each([
    [-1, 0xffffffff],
    [2 ** 32, 0],
    [2 ** 53 - 1, 0xffffffff],
    [42, 42],
  ])('folds seed %d to 32 bits', (seed, folded) => {
    expect(decode({ seed }).sampling.seed).toBe(folded)
  })

  it.each([
    ['temperature', 2.1],
    ['temperature', -0.1],
    ['temperature', '0'],
    ['temperature', Infinity],
    ['top_p', 1.01],
    ['presence_penalty', -2.5],
    ['frequency_penalty', 3],
    ['min_p', 2],
    ['top_k', 1.5],
    ['top_k', -2],
    ['repeat_penalty', 0],
    ['seed', 1.5],
    ['seed', 'x'],
    ['logit_bias', []],
    ['logit_bias', { abc: 1 }],
    ['stop', 5],
  ])('%s: %j is a 400 that names it', (name, value) => {
    expect(refusal({ [name]: value })).toBe(`invalid_request ${name}`)
  })

  it('names the token of a wrong bias', () => {
    expect(refusal({ logit_bias: { 17: 101 } })).toBe('invalid_request logit_bias.17')
  })

  it('an empty bias asks for nothing', () => {
    expect(decode({ logit_bias: {} }).sampling).toEqual({})
  })
})

describe('stop sequences (BR-41)', () => {
  it.each([
    ['x', ['x']],
    [
      ['a', 'b', 'c', 'd'],
      ['a', 'b', 'c', 'd'],
    ],
    [[], []],
    [null, []],
  ])('%j is taken', (stop, stops) => {
    expect(decode({ stop }).stop).toEqual(stops)
  })

  it.each([
    ['', 'stop'],
    [['a', ''], 'stop[1]'],
    [['a', 5], 'stop[1]'],
    [['a', 'b', 'c', 'd', 'e'], 'stop'],
  ])('%j is a 400', (stop, param) => {
    expect(refusal({ stop })).toBe(`invalid_request ${param}`)
  })
})

describe('messages', () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
  const toolCalls = [{ id: 'call_1', name: 'look', arguments: '{}' }]

  it.each([
    ['null', { content: null }],
    ['absent', {}],
    ['empty', { content: '' }],
    ['an empty array', { content: [] }],
  ])('BR-04: an assistant turn with tool calls may have content that is %s', (_what, content) => {
    const messages = [USER, { role: 'assistant', tool_calls: [call], ...content }]
    expect(decode({ messages }).messages[1]).toEqual({ role: 'assistant', content: '', toolCalls })
  })

  it('BR-04: the server’s own answer can be sent back as history', () => {
    const answer = {
      role: 'assistant',
      content: null,
      refusal: null,
      reasoning_content: 'Hm.',
      tool_calls: [call],
    }
    expect(decode({ messages: [USER, answer] }).messages[1]).toEqual({
      role: 'assistant',
      content: '',
      reasoning: 'Hm.',
      toolCalls,
    })
  })

  it('BR-04: a tool’s result may be parts, null or absent', () => {
    const tool = { role: 'tool', tool_call_id: 'call_1' }
    const contents = [
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      { content: null },
      {},
    ]
    expect(
      contents.map((content) => decode({ messages: [{ ...tool, ...content }] }).messages[0]?.content),
    ).toEqual(['ab', '', ''])
  })

  it('BR-05: developer is system, in the order they came', () => {
    const messages = [{ role: 'system', content: 'a' }, { role: 'developer', content: 'b' }, USER]
    expect(decode({ messages }).messages.slice(0, 2)).toEqual([
      { role: 'system', content: 'a' },
      { role: 'system', content: 'b' },
    ])
  })

  it('BR-05: an invented role is named', () => {
    expect(refusal({ messages: [{ role: 'banana', content: 'x' }] })).toBe('invalid_request messages[0].role')
  })

  it('reads the deprecated function turns', () => {
    const messages = [
      USER,
      { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
      { role: 'function', name: 'look', content: 'seen' },
    ]
    expect(decode({ messages }).messages.slice(1)).toEqual([
      { role: 'assistant', content: '', toolCalls: [{ id: 'function_look', name: 'look', arguments: '{}' }] },
      { role: 'tool', content: 'seen', toolCallId: 'function_look', name: 'look' },
    ])
  })

  it.each([
    [undefined, 'messages'],
    [[], 'messages'],
    ['Hi', 'messages'],
    [{}, 'messages'],
    [['Hi'], 'messages[0]'],
    [[USER, null], 'messages[1]'],
    [[{ content: 'x' }], 'messages[0].role'],
    [[{ role: 5, content: 'x' }], 'messages[0].role'],
    [[{ role: 'user' }], 'messages[0].content'],
    [[{ role: 'user', content: null }], 'messages[0].content'],
    [[{ role: 'user', content: 5 }], 'messages[0].content'],
    [[{ role: 'user', content: {} }], 'messages[0].content'],
    [[{ role: 'user', content: ['x'] }], 'messages[0].content[0]'],
    [[{ role: 'user', content: [{ type: 'text' }] }], 'messages[0].content[0].text'],
    [[{ role: 'user', content: [{ type: 'video' }] }], 'messages[0].content[0].type'],
    [[{ role: 'user', content: 'x', name: 5 }], 'messages[0].name'],
    [[{ role: 'tool', content: 'x' }], 'messages[0].tool_call_id'],
    [[{ role: 'assistant', tool_calls: {} }], 'messages[0].tool_calls'],
    [[{ role: 'assistant', tool_calls: [{ ...call, id: 5 }] }], 'messages[0].tool_calls[0].id'],
    [
      [{ role: 'assistant', tool_calls: [{ ...call, function: { name: 'a', arguments: {} } }] }],
      'messages[0].tool_calls[0].function.arguments',
    ],
  ])('%j is a 400 that names %s', (messages, param) => {
    expect(refusal({ messages })).toBe(`invalid_request ${param}`)
  })

  it.each([
    [[{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }], 'messages[0].content[0]'],
    [[{ role: 'user', content: [{ type: 'file', file: {} }] }], 'messages[0].content[0]'],
    [[{ role: 'assistant', audio: { id: 'x' } }], 'messages[0].audio'],
    [[{ role: 'assistant', tool_calls: [{ type: 'custom' }] }], 'messages[0].tool_calls[0].type'],
  ])('%j is documented and refused as unsupported', (messages, param) => {
    expect(refusal({ messages })).toBe(`unsupported ${param}`)
  })
})

describe('images (BR-10)', () => {
  const png = 'data:image/png;base64,iVBORw=='

  function image(value: unknown): Fields {
    return { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: value }] }] }
  }

  it.each([
    ['an object', { url: png }, 'image/png', '89504e47'],
    ['a string', png, 'image/png', '89504e47'],
    ['WebP', 'data:image/webp;base64,UklGRg==', 'image/webp', '52494646'],
    ['percent-encoded bytes', 'data:image/svg+xml,%3Csvg/%3E', 'image/svg+xml', '3c7376672f3e'],
    ['a parameter more', 'DATA:Image/PNG;charset=x;base64,iVBORw', 'image/png', '89504e47'],
    ['line breaks', { url: 'data:image/png;base64,iVBO\nRw==' }, 'image/png', '89504e47'],
  ])('takes %s', (_what, value, mediaType, hex) => {
    const content = decode(image(value)).messages[0]?.content
    const part = typeof content === 'string' ? undefined : content?.[0]
    if (part?.type !== 'image') throw new Error('no image')
    expect([part.mediaType, Buffer.from(part.data).toString('hex')]).toEqual([mediaType, hex])
  })

  it('takes a data URI of several megabytes', () => {
    const data = Buffer.alloc(3_000_000, 7)
    const content = decode(image(`data:image/png;base64,${data.toString('base64')}`)).messages[0]?.content
    const part = typeof content === 'string' ? undefined : content?.[0]
    expect(part?.type === 'image' && data.equals(part.data)).toBe(true)
  })

  it.each([
    ['a remote URL', { url: 'http://example.com/a.png' }, '.image_url.url'],
    ['bare base64', 'iVBORw==', '.image_url'],
    ['no base64', { url: 'data:image/png;base64,%%%' }, '.image_url.url'],
    ['cut base64', { url: 'data:image/png;base64,iVBOR' }, '.image_url.url'],
    ['no bytes', { url: 'data:image/png;base64,' }, '.image_url.url'],
    ['another medium', { url: 'data:text/plain,hello' }, '.image_url.url'],
    ['a broken percent sign', { url: 'data:image/png,%4' }, '.image_url.url'],
    ['a wrong detail', { url: png, detail: 'huge' }, '.image_url.detail'],
    ['a number', 5, '.image_url'],
    ['an object without url', {}, '.image_url.url'],
  ])('refuses %s', (_what, value, param) => {
    expect(refusal(image(value))).toBe(`invalid_request messages[0].content[0]${param}`)
  })

  it('says why remote images are not fetched', () => {
    expect(() => decode(image('https://example.com/a.png'))).toThrow(/does not fetch/)
  })
})

describe('tools', () => {
  const named = { type: 'function', function: { name: 'look' } }

  it.each([
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'required'],
    [named, { name: 'look' }],
    [null, undefined],
  ])('tool_choice %j', (choice, decoded) => {
    expect(decode({ tools: [TOOL], tool_choice: choice }).toolChoice).toEqual(decoded)
  })

  it('allowed_tools leaves only those', () => {
    const other = { type: 'function', function: { name: 'other', description: 'd', strict: true } }
    const choice = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named] } }
    const task = decode({ tools: [TOOL, other], tool_choice: choice })
    expect([task.tools?.map(({ name }) => name), task.toolChoice]).toEqual([['look'], 'required'])
  })

  it('a function without parameters takes none', () => {
    const tool = { type: 'function', function: { name: 'now', strict: false, description: '' } }
    expect(decode({ tools: [tool] }).tools).toEqual([
      { name: 'now', description: '', strict: false, parameters: { type: 'object', properties: {} } },
    ])
  })

  it.each(['none', 'auto', null])('tool_choice %j without tools asks for nothing', (choice) => {
    expect(decode({ tool_choice: choice, tools: [] })).toEqual({
      kind: 'chat',
      messages: [USER],
      sampling: {},
      stop: [],
    })
  })

  it.each([
    [{ tools: 'look' }, 'tools'],
    [{ tools: [5] }, 'tools[0]'],
    [{ tools: [{ type: 'function' }] }, 'tools[0].function'],
    [{ tools: [{ type: 'banana', function: {} }] }, 'tools[0].type'],
    [{ tools: [{ type: 'function', function: { name: '' } }] }, 'tools[0].function.name'],
    [
      { tools: [{ type: 'function', function: { name: 'a', parameters: 'x' } }] },
      'tools[0].function.parameters',
    ],
    [{ tools: [{ type: 'function', function: { name: 'a', strict: 'x' } }] }, 'tools[0].function.strict'],
    [{ tools: [TOOL, TOOL] }, 'tools[1].function.name'],
    [{ tools: [TOOL], tool_choice: 'banana' }, 'tool_choice'],
    [{ tools: [TOOL], tool_choice: 5 }, 'tool_choice'],
    [{ tools: [TOOL], tool_choice: { type: 'function' } }, 'tool_choice.function'],
    [
      { tools: [TOOL], tool_choice: { type: 'function', function: { name: 'x' } } },
      'tool_choice.function.name',
    ],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ tool_choice: named }, 'tool_choice'],
    [{ tools: [TOOL], parallel_tool_calls: 1 }, 'parallel_tool_calls'],
  ])('%j is a 400', (body, param) => {
    expect(refusal(body)).toBe(`invalid_request ${param}`)
  })

  it('custom tools are refused as unsupported', () => {
    expect(refusal({ tools: [{ type: 'custom', custom: { name: 'x' } }] })).toBe('unsupported tools[0].type')
  })
})

describe('formats (BR-08)', () => {
  it.each([
    [{ type: 'text' }, undefined],
    [null, undefined],
    [{ type: 'json_object' }, { type: 'json-object' }],
    [
      { type: 'json_schema', json_schema: { name: 'a', schema: {} } },
      { type: 'json-schema', name: 'a', schema: {}, strict: false },
    ],
  ])('%j', (format, decoded) => {
    expect(decode({ response_format: format }).format).toEqual(decoded)
  })

  it.each([
    [{ type: 'sound' }, 'response_format.type'],
    [{}, 'response_format.type'],
    ['json', 'response_format'],
    [{ type: 'json_schema' }, 'response_format.json_schema'],
    [{ type: 'json_schema', json_schema: { name: 'a', schema: 123 } }, 'response_format.json_schema.schema'],
    [{ type: 'json_schema', json_schema: { schema: {} } }, 'response_format.json_schema.name'],
    [
      { type: 'json_schema', json_schema: { name: 'a', schema: {}, strict: 'x' } },
      'response_format.json_schema.strict',
    ],
  ])('%j is a 400', (format, param) => {
    expect(refusal({ response_format: format })).toBe(`invalid_request ${param}`)
  })

  it('a grammar and a schema exclude each other', () => {
    expect(refusal({ grammar: 'root ::= "x"', response_format: { type: 'json_object' } })).toBe(
      'invalid_request grammar',
    )
  })
})

describe('logprobs and reasoning', () => {
  it.each([
    [{ logprobs: true }, 0],
    [{ logprobs: true, top_logprobs: 0 }, 0],
    [{ logprobs: true, top_logprobs: 20 }, 20],
    [{ logprobs: false }, undefined],
    [{ logprobs: false, top_logprobs: 0 }, undefined],
    [{ logprobs: null, top_logprobs: null }, undefined],
  ])('%j gives %j', (body, top) => {
    expect(decode(body).topLogprobs).toBe(top)
  })

  it.each([
    [{ logprobs: true, top_logprobs: 21 }, 'top_logprobs'],
    [{ top_logprobs: 2 }, 'top_logprobs'],
    [{ logprobs: 1 }, 'logprobs'],
    [{ reasoning_effort: 'extreme' }, 'reasoning_effort'],
    [{ reasoning_effort: 5 }, 'reasoning_effort'],
    [{ chat_template_kwargs: 'x' }, 'chat_template_kwargs'],
  ])('%j is a 400', (body, param) => {
    expect(refusal(body)).toBe(`invalid_request ${param}`)
  })

  it.each([
    ['none', { enabled: false }],
    ['minimal', { enabled: true, budget: 256 }],
    ['medium', { enabled: true, budget: 4096 }],
    ['high', { enabled: true }],
    ['max', { enabled: true }],
    [null, undefined],
  ])('reasoning_effort %j', (effort, reasoning) => {
    expect(decode({ reasoning_effort: effort }).reasoning).toEqual(reasoning)
  })
})
