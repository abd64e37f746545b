import { describe, expect, it } from 'vitest'
import type { ChatTask } from '../../tasks/chat-task.ts'
import { wireRequest } from './wire-request.ts'

const SETTINGS = { remoteModel: 'there', defaults: {} }
const CHAT: ChatTask = { kind: 'chat', messages: [{ role: 'user', content: 'hi' }], sampling: {}, stop: [] }
const COMMON = { model: 'there', stream: true, stream_options: { include_usage: true } }

describe('a task in the words of an OpenAI API', () => {
  it('says nothing of what was not asked', () => {
    expect(wireRequest(CHAT, SETTINGS)).toEqual({
      path: '/chat/completions',
      body: { ...COMMON, messages: [{ role: 'user', content: 'hi' }] },
    })
  })

  it('passes zeros on', () => {
    const task: ChatTask = {
      ...CHAT,
      maxTokens: 0,
      topLogprobs: 0,
      sampling: { temperature: 0, topK: 0, seed: 0, presencePenalty: 0 },
    }
    expect(wireRequest(task, { ...SETTINGS, defaults: { temperature: 1, seed: 7 } }).body).toMatchObject({
      temperature: 0,
      top_k: 0,
      seed: 0,
      presence_penalty: 0,
      max_tokens: 0,
      logprobs: true,
      top_logprobs: 0,
    })
  })

  it("uses the model's defaults and its system text where the task says nothing", () => {
    const { body } = wireRequest(CHAT, { remoteModel: 'there', defaults: { minP: 0.1 }, system: 'Be brief.' })
    expect(body).toMatchObject({
      min_p: 0.1,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
    })
    const own: ChatTask = { ...CHAT, messages: [{ role: 'system', content: '' }, ...CHAT.messages] }
    expect(wireRequest(own, { ...SETTINGS, system: 'Be brief.' }).body['messages']).toEqual(own.messages)
  })

  it('writes tools, a named choice, their history and a schema', () => {
    const task: ChatTask = {
      ...CHAT,
      messages: [
        { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'f', arguments: '{"a":1}' }] },
        { role: 'tool', content: '2', toolCallId: 'c1' },
      ],
      tools: [{ name: 'f', parameters: { type: 'object' } }],
      toolChoice: { name: 'f' },
      parallelToolCalls: false,
      format: { type: 'json-schema', name: 'answer', schema: { type: 'object' }, strict: true },
    }
    expect(wireRequest(task, SETTINGS).body).toEqual({
      ...COMMON,
      messages: [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
        },
        { role: 'tool', content: '2', tool_call_id: 'c1' },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      parallel_tool_calls: false,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema: { type: 'object' }, strict: true },
      },
    })
  })

  it('sends images and audio as data', () => {
    const data = Uint8Array.of(1, 2, 3)
    const content = [
      { type: 'image' as const, mediaType: 'image/png', data },
      { type: 'audio' as const, format: 'wav', data },
    ]
    expect(
      wireRequest({ ...CHAT, messages: [{ role: 'user', content }] }, SETTINGS).body['messages'],
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AQID' } },
          { type: 'input_audio', input_audio: { data: 'AQID', format: 'wav' } },
        ],
      },
    ])
  })

  it('has completions and embeddings of texts and token ids', () => {
    const completion = wireRequest(
      { kind: 'completion', prompt: [1, 2], echo: false, sampling: {}, stop: ['.'] },
      SETTINGS,
    )
    expect(completion).toEqual({
      path: '/completions',
      body: { ...COMMON, prompt: [1, 2], echo: false, stop: ['.'] },
    })
    expect(wireRequest({ kind: 'embedding', inputs: ['a', [1]], dimensions: 8 }, SETTINGS)).toEqual({
      path: '/embeddings',
      body: { model: 'there', input: ['a', [1]], dimensions: 8, encoding_format: 'float' },
    })
  })
})
