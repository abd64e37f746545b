import { Ollama } from 'ollama'
import { Ollama as OldOllama } from 'ollama-old'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTalkingYard, type TalkingYard } from '../conformance/talking-yard.ts'

const KEY = 'sk-local-test'

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string', description: 'Its name' } } },
  },
}

/** `test/conformance` asks the newest one everything; here an old one must find the same. */
describe.each([
  ['0.5.9', OldOllama as unknown as typeof Ollama],
  ['0.6', Ollama],
])('the official Ollama SDK for JavaScript, version %s', (_version, Client) => {
  let talking: TalkingYard
  let client: Ollama
  beforeAll(async () => {
    talking = await startTalkingYard(KEY)
    const headers = { Authorization: `Bearer ${KEY}` }
    client = new Client({
      host: talking.server.url,
      headers,
      fetch: (url: string | URL | Request, init?: RequestInit) =>
        fetch(url, { ...init, headers: { ...(init?.headers as Record<string, string>), ...headers } }),
    })
  })
  afterAll(() => talking.yard.stop())

  const say = (content: string) => ({ model: 'talker', messages: [{ role: 'user', content }] })

  it('list, show and ps', async () => {
    const { models } = await client.list()
    expect(models.map(({ name }) => name).sort()).toEqual(['plain:latest', 'talker:latest', 'vectors:latest'])
    expect((await client.show({ model: 'talker' })).details).toHaveProperty('family')
    expect(await client.ps()).toHaveProperty('models')
  })

  it('chat, plain and streamed', async () => {
    const { message, eval_count } = await client.chat(say('Hi'))
    expect(message.content).toBe('Hello there, friend.')
    expect(eval_count).toBeGreaterThan(0)
    let text = ''
    for await (const part of await client.chat({ ...say('Hi'), stream: true })) text += part.message.content
    expect(text).toBe(message.content)
  })

  it('tools', async () => {
    const { message } = await client.chat({ ...say('weather'), tools: [WEATHER] })
    expect(message.tool_calls?.map((call) => call.function.arguments)).toEqual([
      { city: 'Paris' },
      { city: 'Rome' },
    ])
  })

  it('structured output, generate and embed', async () => {
    const { message } = await client.chat({ ...say('json'), format: 'json' })
    expect(JSON.parse(message.content)).toEqual({ name: 'Ada', age: 36 })
    const { response } = await client.generate({ model: 'talker', prompt: 'Hi' })
    expect(response).toBe('Hello there, friend.')
    const { embeddings } = await client.embed({ model: 'vectors', input: ['a', 'b'] })
    expect(embeddings.map(({ length }) => length)).toEqual([64, 64])
  })

  it('errors: no such model, and a stream that breaks', async () => {
    await expect(client.chat({ ...say('Hi'), model: 'nobody' })).rejects.toThrow('nobody')
    const stream = await client.chat({ ...say('break'), stream: true })
    const reading = (async () => {
      for await (const part of stream) expect(part.done).toBe(false)
    })()
    await expect(reading).rejects.toThrow('The engine gave up.')
  })
})
