import OpenAI from 'openai'
import OpenAI4 from 'openai4'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTalkingYard, type TalkingYard } from '../conformance/talking-yard.ts'

const KEY = 'sk-local-test'

const WEATHER: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}

/** `test/conformance` asks the newest one everything; here an old one must find the same. */
describe.each([
  ['4', OpenAI4 as unknown as typeof OpenAI],
  ['6', OpenAI],
])('the official OpenAI SDK for JavaScript, version %s', (_version, Client) => {
  let talking: TalkingYard
  let client: OpenAI
  beforeAll(async () => {
    talking = await startTalkingYard(KEY)
    client = new Client({ baseURL: `${talking.server.url}/v1`, apiKey: KEY, maxRetries: 0 })
  })
  afterAll(() => talking.yard.stop())

  const say = (content: string) => ({ model: 'talker', messages: [{ role: 'user' as const, content }] })

  it('chat', async () => {
    const { choices, usage } = await client.chat.completions.create({ ...say('Hi'), temperature: 0 })
    expect(choices[0]?.message.content).toBe('Hello there, friend.')
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0))
  })

  it('chat, streamed', async () => {
    const options = { stream: true, stream_options: { include_usage: true } } as const
    let text = ''
    let tokens = 0
    for await (const chunk of await client.chat.completions.create({ ...say('Hi'), ...options })) {
      text += chunk.choices[0]?.delta.content ?? ''
      tokens += chunk.usage?.total_tokens ?? 0
    }
    expect(text).toBe('Hello there, friend.')
    expect(tokens).toBeGreaterThan(0)
  })

  it('tools: the helper joins fragments, and results go back', async () => {
    const { chat } = 'stream' in client.chat.completions ? client : (client.beta as unknown as OpenAI)
    const stream = chat.completions.stream({ ...say('weather'), tools: [WEATHER] })
    const { choices } = await stream.finalChatCompletion()
    const message = choices[0]?.message
    const calls = message?.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
    expect(calls.map((call) => call.function.arguments)).toEqual(['{"city":"Paris"}', '{"city":"Rome"}'])
    const results = calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'mild' }))
    const history = [...say('weather').messages, message, ...results] as OpenAI.ChatCompletionMessageParam[]
    const next = await client.chat.completions.create({ model: 'talker', messages: history })
    expect(next.choices[0]?.message.content).toBe('It is mild in both.')
  })

  it('structured output', async () => {
    const schema = { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } } }
    const { choices } = await client.chat.completions.create({
      ...say('json'),
      response_format: { type: 'json_schema', json_schema: { name: 'person', schema } },
    })
    expect(JSON.parse(choices[0]?.message.content ?? '')).toEqual({ name: 'Ada', age: 36 })
  })

  it('BR-32: embeddings are the same as floats and as base64', async () => {
    const asked = { model: 'vectors', input: ['a', 'b', 'c'] }
    const floats = await client.embeddings.create({ ...asked, encoding_format: 'float' })
    const plain = await client.embeddings.create(asked)
    expect(plain.data.map(({ index, embedding }) => [index, embedding.length])).toEqual([[0, 64], [1, 64], [2, 64]])
    expect(plain.data.map(({ embedding }) => embedding)).toEqual(floats.data.map(({ embedding }) => embedding))
    const short = await client.embeddings.create({ ...asked, dimensions: 8 })
    expect(short.data.map(({ embedding }) => Math.hypot(...embedding).toFixed(4))).toEqual(['1.0000', '1.0000', '1.0000'])
  }) // prettier-ignore

  it('responses', async () => {
    expect((await client.responses.create({ model: 'talker', input: 'Hi' })).output_text).toBe(
      'Hello there, friend.',
    )
  })

  it.each([
    ['no such model', { model: 'nobody' }, { status: 404, code: 'model_not_found' }],
    ['BR-07: too long', say('huge'), { status: 400, code: 'context_length_exceeded' }],
    ['a full queue', say('crowd'), { status: 429, code: 'rate_limit_exceeded' }],
  ])('an error: %s', async (_what, fields, expected) => {
    const asked = client.chat.completions.create({ ...say('Hi'), ...fields })
    await expect(asked).rejects.toMatchObject(expected)
  })

  it('BR-09: a broken stream throws', async () => {
    const stream = await client.chat.completions.create({ ...say('break'), stream: true })
    const reading = (async () => {
      for await (const chunk of stream) expect(chunk.choices.length).toBe(1)
    })()
    await expect(reading).rejects.toThrow('The engine gave up.')
  })
})
