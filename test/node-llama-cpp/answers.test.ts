import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import type { Message, Tool } from '../../src/tasks/message.ts'
import { SMOLLM2, TINY_CHAT, fetched } from '../models/paths.ts'
import { ask, chat, completion, load, NEVER, type Answer } from './fixtures.ts'

const weather: Tool = {
  name: 'get_weather',
  description: 'Get the weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

/** Of each call, joined from its pieces. */
function argumentsOf({ parts }: Answer): string[] {
  const calls: string[] = []
  for (const part of parts) {
    if (part.type === 'tool-call-arguments') calls[part.index] = (calls[part.index] ?? '') + part.text
  }
  return calls
}

describe('tiny-chat', () => {
  let model: LoadedModel
  beforeAll(async () => {
    model = await load(TINY_CHAT)
    await model.warmUp(NEVER)
  })
  afterAll(async () => model.unload())

  it.each([
    ['hi', 'Hello, how are you today?'],
    ['Hello, how are you today?', 'I am fine, thank you.'],
    ['Count.', 'one two three four five six seven eight nine ten'],
  ])('answers %j as it was trained to', async (asked, answer) => {
    const { text, result } = await ask(model, chat(asked))
    expect(text).toBe(answer)
    expect(result.finishReason).toBe('stop')
  })

  it('sees the system message', async () => {
    const messages: Message[] = [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: 'hi' },
    ]
    expect((await ask(model, chat(messages))).text).toBe('Hello, I am a helpful assistant.')
  })

  it("sees tools in its template's own shape, and calls them", async () => {
    const one = await ask(model, chat('What is the weather in Rome?', { tools: [weather] }))
    expect([one.text, argumentsOf(one)]).toEqual(['', ['{"city": "Rome"}']])
    const two = await ask(model, chat('Weather in Rome and Oslo?', { tools: [weather] }))
    expect([two.text, argumentsOf(two)]).toEqual(['', ['{"city": "Rome"}', '{"city": "Oslo"}']])
    expect((await ask(model, chat('hi', { tools: [weather] }))).text).toBe('Hello, how are you today?')
  })

  it('counts the tokens of a prompt with tools as llama-server does', async () => {
    const task = chat('Weather in Rome and Oslo?', { tools: [weather] })
    expect(await model.countTokens(task)).toBe(308)
    expect((await ask(model, task)).result.usage.promptTokens).toBe(308)
  })

  it('BR-04: takes a history with calls and results', async () => {
    const history: Message[] = [
      { role: 'user', content: 'What is the weather in Rome?' },
      {
        role: 'assistant',
        content: '',
        toolCalls: [{ id: 'call_1', name: 'get_weather', arguments: '{"city": "Rome"}' }],
      },
      { role: 'tool', content: 'sunny', toolCallId: 'call_1' },
    ]
    const short = await model.countTokens(chat(history.slice(0, 1), { tools: [weather] }))
    const long = await model.countTokens(chat(history, { tools: [weather] }))
    expect(long).toBeGreaterThan(short + 20)
    const { result } = await ask(model, chat(history, { tools: [weather], maxTokens: 4 }))
    expect(result.usage.completionTokens).toBeGreaterThan(0)
  })

  it('E4: continues a last assistant message', async () => {
    const messages: Message[] = [
      { role: 'user', content: 'Count.' },
      { role: 'assistant', content: 'one two three four' },
    ]
    expect((await ask(model, chat(messages))).text).toBe(' five six seven eight nine ten')
  })

  it('tells exact usage, the end token not counted, and begins with one started part', async () => {
    const { parts, result } = await ask(model, chat('hi'))
    const { promptTokens } = result.usage
    expect(parts.filter(({ type }) => type === 'started')).toEqual([
      { type: 'started', promptTokens, cachedTokens: 0 },
    ])
    expect(parts[0]?.type).toBe('started')
    expect(result.usage).toEqual({
      promptTokens: await model.countTokens(chat('hi')),
      cachedTokens: 0,
      completionTokens: parts.filter(({ type }) => type === 'text').length,
      reasoningTokens: 0,
    })
  })

  it('gives the same through a prompt that its sender rendered', async () => {
    const prompt = '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n'
    const { text, result } = await ask(model, completion(prompt))
    expect(text).toBe('Hello, how are you today?')
    expect(result.usage.promptTokens).toBe(await model.countTokens(chat('hi')))
  })

  it('refuses what it cannot do, before anything else', async () => {
    const image: Message = {
      role: 'user',
      content: [{ type: 'image', mediaType: 'image/png', data: new Uint8Array(4) }],
    }
    await expect(ask(model, chat([image]))).rejects.toMatchObject({ code: 'unsupported' })
    await expect(ask(model, { kind: 'embedding', inputs: ['a'] })).rejects.toMatchObject({
      code: 'unsupported',
    })
    await expect(ask(model, completion('a', { suffix: 'b' }))).rejects.toMatchObject({
      code: 'unsupported',
      details: { param: 'suffix' },
    })
  })
})

describe.skipIf(!fetched(SMOLLM2))('SmolLM2', () => {
  let model: LoadedModel
  beforeAll(async () => {
    model = await load(SMOLLM2, { system: '', context: 1024 })
  })
  afterAll(async () => model.unload())

  it("answers rightly without its template's own system text", async () => {
    const { text } = await ask(model, chat('What is the capital of France?', { maxTokens: 40 }))
    expect(text).toContain('Paris')
  })

  it('begins its prompt with the user turn', async () => {
    const bare = await model.countTokens(
      completion('<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n'),
    )
    expect(await model.countTokens(chat('hi'))).toBe(bare)
  })

  it('streams whole characters whatever its tokens are', async () => {
    const { parts } = await ask(model, chat('Write ten different emoji.', { maxTokens: 60 }))
    const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    expect(texts.length).toBeGreaterThan(3)
    expect(texts.filter((text) => /\uFFFD|[\uD800-\uDBFF]$/.test(text))).toEqual([])
  })
})
