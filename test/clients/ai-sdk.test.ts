import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  embedMany,
  generateObject,
  generateText,
  stepCountIs,
  streamText,
  tool,
  type LanguageModel,
} from 'ai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { startTalkingYard, type TalkingYard } from '../conformance/talking-yard.ts'

const KEY = 'sk-local-test'

const PROVIDERS: [string, (url: string) => LanguageModel][] = [
  ['@ai-sdk/openai, responses', (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey: KEY })('talker')],
  ['@ai-sdk/openai, chat', (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey: KEY }).chat('talker')],
  [
    '@ai-sdk/openai-compatible',
    (url) =>
      createOpenAICompatible({ name: 'yard', baseURL: `${url}/v1`, apiKey: KEY, supportsStructuredOutputs: true })('talker'),
  ],
  ['@ai-sdk/anthropic', (url) => createAnthropic({ baseURL: `${url}/v1`, apiKey: KEY })('talker')],
] // prettier-ignore

describe.each(PROVIDERS)('the AI SDK through %s', (_name, modelAt) => {
  let talking: TalkingYard
  let model: LanguageModel
  const asked: string[] = []
  const weather = tool({
    description: 'The weather of a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => {
      asked.push(city)
      return 'mild'
    },
  })
  beforeAll(async () => {
    talking = await startTalkingYard(KEY)
    model = modelAt(talking.server.url)
  })
  afterAll(() => talking.yard.stop())

  it('generateText', async () => {
    const { text, usage, finishReason } = await generateText({ model, prompt: 'Hi', maxRetries: 0 })
    expect([text, finishReason]).toEqual(['Hello there, friend.', 'stop'])
    expect(usage.outputTokens).toBeGreaterThan(0)
  })

  it('streamText', async () => {
    const { textStream } = streamText({ model, prompt: 'Hi', maxRetries: 0 })
    const pieces: string[] = []
    for await (const piece of textStream) pieces.push(piece)
    expect(pieces.join('')).toBe('Hello there, friend.')
  })

  it('tools over two steps, plain and streamed', async () => {
    const options = { model, prompt: 'weather', tools: { get_weather: weather }, stopWhen: stepCountIs(3), maxRetries: 0 }
    expect((await generateText(options)).text).toBe('It is mild in both.')
    expect(asked.splice(0)).toEqual(['Paris', 'Rome'])
    expect(await streamText(options).text).toBe('It is mild in both.')
    expect(asked.splice(0)).toEqual(['Paris', 'Rome'])
  }) // prettier-ignore

  it('generateObject', async () => {
    const schema = z.object({ name: z.string(), age: z.number() })
    const { object } = await generateObject({ model, schema, prompt: 'json', maxRetries: 0 })
    expect(object).toEqual({ name: 'Ada', age: 36 })
  })

  it('errors: a full queue, and a stream that breaks', async () => {
    await expect(generateText({ model, prompt: 'crowd', maxRetries: 0 })).rejects.toMatchObject({ statusCode: 429 })
    const errors: unknown[] = []
    const { textStream } = streamText({
      model,
      prompt: 'break',
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    })
    let text = ''
    for await (const piece of textStream) text += piece
    expect(text).toBe('one two three')
    expect(JSON.stringify(errors.map((error) => (error instanceof Error ? error.message : error)))).toContain('The engine gave up.')
  }) // prettier-ignore
})

describe('the AI SDK: embeddings', () => {
  it('embedMany keeps order', async () => {
    const { yard, server } = await startTalkingYard(KEY)
    const provider = createOpenAI({ baseURL: `${server.url}/v1`, apiKey: KEY })
    const model = provider.embedding('vectors')
    const { embeddings } = await embedMany({ model, values: ['a', 'b', 'a'] })
    expect(embeddings.map(({ length }) => length)).toEqual([64, 64, 64])
    expect(embeddings[0]).toEqual(embeddings[2])
    expect(embeddings[0]).not.toEqual(embeddings[1])
    await yard.stop()
  })
})
