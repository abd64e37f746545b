import { describe, expect, it } from 'vitest'
import { dialectRequest } from '../../../test/http/transcript.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { Fields } from '../fields.ts'
import { decodeChat, decodeChatTask } from './decode-chat.ts'

const USER = { role: 'user', content: 'Hi' }

function decode(body: Fields): ChatTask {
  return decodeChatTask({ messages: [USER], ...body })
}

/** The error's code and the field it names. */
function refusal(body: Fields): string {
  try {
    decodeChat(dialectRequest({ body: { model: 'tiny', messages: [USER], ...body } }))
  } catch (error) {
    const { code, details } = error as { code: string; details: { param?: string } }
    return `${code} ${details.param}`
  }
  return 'accepted'
}

function options(fields: Fields): ChatTask {
  return decode({ options: fields })
}

describe('options', () => {
  it('F27: zero is a value', () => {
    const zeros = {
      temperature: 0,
      top_p: 0,
      top_k: 0,
      min_p: 0,
      seed: 0,
      num_predict: 0,
      presence_penalty: 0,
    }
    expect(options(zeros)).toMatchObject({
      sampling: { temperature: 0, topP: 0, topK: 0, minP: 0, seed: 0, presencePenalty: 0 },
      maxTokens: 0,
    })
  })

  it.each([
    [{ seed: -1 }, undefined],
    [{ seed: -2 }, 4_294_967_294],
    [{ seed: 2 ** 40 + 7 }, 7],
    [{ seed: null }, undefined],
  ])('%j', (fields, seed) => {
    expect(options(fields).sampling.seed).toBe(seed)
  })

  it.each([
    [{ num_predict: -1 }, undefined],
    [{ num_predict: -2 }, undefined],
    [{ num_predict: 0 }, 0],
    [{ num_predict: 5 }, 5],
    [{}, undefined],
  ])('%j gives %j tokens', (fields, tokens) => {
    expect(options(fields).maxTokens).toBe(tokens)
  })

  it.each([
    [undefined, []],
    [null, []],
    ['END', ['END']],
    [[], []],
    [
      ['a', 'b', 'c', 'd', 'e'],
      ['a', 'b', 'c', 'd', 'e'],
    ],
  ])('BR-41: stop %j', (stop, stops) => {
    expect(options({ stop }).stop).toEqual(stops)
  })

  it.each([
    [{ options: [] }, 'invalid_request options'],
    [{ options: { temperature: '0' } }, 'invalid_request options.temperature'],
    [{ options: { temperature: -1 } }, 'invalid_request options.temperature'],
    [{ options: { top_p: 1.5 } }, 'invalid_request options.top_p'],
    [{ options: { top_k: -2 } }, 'invalid_request options.top_k'],
    [{ options: { seed: 1.5 } }, 'invalid_request options.seed'],
    [{ options: { repeat_penalty: 0 } }, 'invalid_request options.repeat_penalty'],
    [{ options: { num_predict: -3 } }, 'invalid_request options.num_predict'],
    [{ options: { num_ctx: '4096' } }, 'invalid_request options.num_ctx'],
    [{ options: { stop: '' } }, 'invalid_request options.stop'],
    [{ options: { stop: ['a', ''] } }, 'invalid_request options.stop[1]'],
    [{ options: { stop: [5] } }, 'invalid_request options.stop[0]'],
    [{ options: { mirostat: 2 } }, 'unsupported options.mirostat'],
    [{ options: { typical_p: 0.5 } }, 'unsupported options.typical_p'],
    [{ options: { num_gpu: 'all' } }, 'invalid_request options.num_gpu'],
    [{ options: { num_gpu: 99, num_thread: 4, num_batch: 512, unheard_of: 1 } }, 'accepted'],
    [{ options: null }, 'accepted'],
  ])('%j: %s', (body, outcome) => {
    expect(refusal(body)).toBe(outcome)
  })
})

describe('messages', () => {
  it.each([
    [{ messages: {} }, 'invalid_request messages'],
    [{ messages: ['Hi'] }, 'invalid_request messages[0]'],
    [{ messages: [{ content: 'Hi' }] }, 'invalid_request messages[0].role'],
    [{ messages: [{ role: 'banana', content: 'Hi' }] }, 'invalid_request messages[0].role'],
    [{ messages: [{ role: 'user', content: [] }] }, 'invalid_request messages[0].content'],
    [{ messages: [{ ...USER, images: 'x' }] }, 'invalid_request messages[0].images'],
    [{ messages: [{ ...USER, images: ['*'] }] }, 'invalid_request messages[0].images[0]'],
    [{ messages: [{ ...USER, images: [''] }] }, 'invalid_request messages[0].images[0]'],
    [{ messages: [{ ...USER, images: ['aGVsbG8='] }] }, 'invalid_request messages[0].images[0]'],
    [
      { messages: [{ ...USER, images: ['https://example.com/x.png'] }] },
      'invalid_request messages[0].images[0]',
    ],
    [
      { messages: [{ role: 'assistant', tool_calls: [{}] }] },
      'invalid_request messages[0].tool_calls[0].function',
    ],
    [
      { messages: [{ role: 'assistant', tool_calls: [{ function: { name: 'x', arguments: '{}' } }] }] },
      'invalid_request messages[0].tool_calls[0].function.arguments',
    ],
    [{ model: undefined }, 'invalid_request model'],
    [{ model: '' }, 'invalid_request model'],
    [{ model: undefined, name: 'tiny' }, 'accepted'],
    [{ messages: [{ role: 'assistant', content: null }] }, 'accepted'],
    [{ messages: [{ role: 'developer', content: 'Be brief.' }, { role: 'tool' }] }, 'accepted'],
  ])('BR-04, BR-05, BR-10: %j: %s', (body, outcome) => {
    expect(refusal(body)).toBe(outcome)
  })

  it.each([
    ['iVBORw==', 'image/png'],
    ['/9j/4AAQ', 'image/jpeg'],
    ['R0lGODlh', 'image/gif'],
    ['UklGRgAAAABXRUJQ', 'image/webp'],
    ['data:image/whatever;base64,iVBORw==', 'image/png'],
  ])('BR-10: the image %s is %s', (image, mediaType) => {
    const { messages } = decode({ messages: [{ role: 'user', content: '', images: [image] }] })
    expect(messages[0]?.content).toMatchObject([{ type: 'image', mediaType }])
  })

  const TOOL = { type: 'function', function: { name: 'look' } }
  it.each([
    ['none', 'none'],
    ['auto', 'auto'],
    ['required', 'required'],
    [{ type: 'function', function: { name: 'look' } }, { name: 'look' }],
  ])('tool_choice %j, an extension in the words of the OpenAI API', (choice, toolChoice) => {
    const asked = { tools: [TOOL], tool_choice: choice, parallel_tool_calls: false }
    expect(decode(asked)).toMatchObject({ toolChoice, parallelToolCalls: false })
  })

  it.each([
    [{ tools: [TOOL], tool_choice: 'banana' }, 'invalid_request tool_choice'],
    [{ tools: [], tool_choice: 'required' }, 'invalid_request tool_choice'],
    [
      { tools: [TOOL], tool_choice: { type: 'function', function: { name: 'x' } } },
      'invalid_request tool_choice.function.name',
    ],
  ])('%j: %s', (body, outcome) => {
    expect(refusal(body)).toBe(outcome)
  })

  it('results go to the oldest open call of their name, in whatever order they come', () => {
    const call = (name: string, id?: string): Fields => ({
      function: { name },
      ...(id !== undefined && { id }),
    })
    const { messages } = decode({
      messages: [
        { role: 'assistant', tool_calls: [call('a'), call('b'), call('a'), call('c', 'own')] },
        { role: 'tool', tool_name: 'b', content: '1' },
        { role: 'tool', tool_name: 'a', content: '2' },
        { role: 'tool', content: '3' },
        { role: 'tool', tool_call_id: 'own', content: '4' },
        { role: 'tool', tool_name: 'gone', content: '5' },
        { role: 'tool', content: '6' },
      ],
    })
    expect(
      messages.flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, message.name]] : [])),
    ).toEqual([
      ['call_1', 'b'],
      ['call_0', 'a'],
      ['call_2', 'a'],
      ['own', 'c'],
      ['call_gone', 'gone'],
      ['call_', undefined],
    ])
  })
})

describe('what is asked of the answer', () => {
  it.each([
    [undefined, undefined],
    [null, undefined],
    [true, { enabled: true }],
    [false, { enabled: false }],
    ['low', { enabled: true, budget: 1024 }],
    ['medium', { enabled: true, budget: 4096 }],
    ['high', { enabled: true }],
  ])('BR-38: think %j', (think, reasoning) => {
    expect(decode({ think }).reasoning).toEqual(reasoning)
  })

  it.each([
    [undefined, undefined],
    [null, undefined],
    ['', undefined],
    ['json', { type: 'json-object' }],
    [{ type: 'object' }, { type: 'json-schema', name: 'format', schema: { type: 'object' }, strict: true }],
  ])('BR-08: format %j', (format, expected) => {
    expect(decode({ format }).format).toEqual(expected)
  })

  it.each([
    [{}, undefined],
    [{ logprobs: true }, 0],
    [{ logprobs: true, top_logprobs: 3 }, 3],
    [{ logprobs: false, top_logprobs: 0 }, undefined],
  ])('%j', (body, top) => {
    expect(decode(body).topLogprobs).toBe(top)
  })

  it.each([
    [{ think: 'loud' }, 'invalid_request think'],
    [{ think: 5 }, 'invalid_request think'],
    [{ think: 'toString' }, 'invalid_request think'],
    [{ format: 'xml' }, 'invalid_request format'],
    [{ format: 123 }, 'invalid_request format'],
    [{ format: [] }, 'invalid_request format'],
    [{ top_logprobs: 3 }, 'invalid_request top_logprobs'],
    [{ logprobs: true, top_logprobs: 21 }, 'invalid_request top_logprobs'],
    [{ stream: 'yes' }, 'invalid_request stream'],
    [{ truncate: 'yes' }, 'invalid_request truncate'],
    [{ shift: true }, 'unsupported shift'],
    [{ tools: [{ type: 'function' }] }, 'invalid_request tools[0].function'],
    [{ tools: [{ function: { name: '' } }] }, 'invalid_request tools[0].function.name'],
    [{ shift: false, stream: null, tools: null }, 'accepted'],
  ])('%j: %s', (body, outcome) => {
    expect(refusal(body)).toBe(outcome)
  })

  it('streams are the default', () => {
    const streams = [{}, { stream: null }, { stream: true }, { stream: false }].map((fields) => {
      const action = decodeChat(dialectRequest({ body: { model: 'tiny', messages: [USER], ...fields } }))
      return action.type === 'run' && action.encoder.streaming
    })
    expect(streams).toEqual([true, true, true, false])
  })
})
