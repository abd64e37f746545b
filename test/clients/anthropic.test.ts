import Anthropic from '@anthropic-ai/sdk'
import OldAnthropic from 'anthropic-old'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTalkingYard, type TalkingYard } from '../conformance/talking-yard.ts'

const KEY = 'sk-ant-local-test'

const WEATHER: Anthropic.Tool = {
  name: 'get_weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } } },
}

/** `test/conformance` asks the newest one everything; here an old one must find the same. */
describe.each([
  ['0.39', OldAnthropic as unknown as typeof Anthropic],
  ['1', Anthropic],
])('the official Anthropic SDK for JavaScript, version %s', (_version, Client) => {
  let talking: TalkingYard
  let client: Anthropic
  beforeAll(async () => {
    talking = await startTalkingYard(KEY)
    client = new Client({ baseURL: talking.server.url, apiKey: KEY, maxRetries: 0 })
  })
  afterAll(() => talking.yard.stop())

  const say = (content: string): Anthropic.MessageCreateParamsNonStreaming => ({
    model: 'talker',
    max_tokens: 100,
    messages: [{ role: 'user', content }],
  })

  it('messages, plain and streamed', async () => {
    const { content, usage } = await client.messages.create(say('Hi'))
    expect(content).toMatchObject([{ type: 'text', text: 'Hello there, friend.' }])
    expect(usage.input_tokens).toBeGreaterThan(0)
    const final = await client.messages.stream(say('Hi')).finalMessage()
    expect(final.content).toMatchObject(content)
    expect(final.usage.output_tokens).toBe(usage.output_tokens)
  })

  it('tools: calls are streamed, and results go back', async () => {
    const stream = client.messages.stream({ ...say('weather'), tools: [WEATHER] })
    const { content } = await stream.finalMessage()
    const calls = content.filter((block) => block.type === 'tool_use')
    expect(calls.map(({ input }) => input)).toEqual([{ city: 'Paris' }, { city: 'Rome' }])
    const results = calls.map(({ id }) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: 'mild',
    }))
    const next = await client.messages.create({
      ...say(''),
      messages: [
        { role: 'user', content: 'weather' },
        { role: 'assistant', content },
        { role: 'user', content: results },
      ],
    })
    expect(next.content).toMatchObject([{ text: 'It is mild in both.' }])
  })

  it('thinking', async () => {
    const { content } = await client.messages.create({
      ...say('think'),
      max_tokens: 4000,
      thinking: { type: 'enabled', budget_tokens: 1024 },
    })
    expect(content).toMatchObject([{ type: 'thinking', thinking: 'Let me see. ' }, { text: 'Done.' }])
  })

  it('BR-40: count_tokens is the usage of the same request', async () => {
    const { messages, model } = say('Hi')
    const { input_tokens } = await client.messages.countTokens({ model, messages })
    const { usage } = await client.messages.create(say('Hi'))
    expect(input_tokens).toBe(usage.input_tokens + (usage.cache_read_input_tokens ?? 0))
  })

  it.each([
    ['no such model', { model: 'nobody' }, { status: 404 }],
    ['a full queue', say('crowd'), { status: 429 }],
    ['no room', say('full'), { status: 529 }],
  ])('an error: %s', async (_what, fields, expected) => {
    await expect(client.messages.create({ ...say('Hi'), ...fields })).rejects.toMatchObject(expected)
  })

  it('BR-09: a broken stream throws', async () => {
    await expect(client.messages.stream(say('break')).finalMessage()).rejects.toThrow('The engine gave up.')
  })
})
