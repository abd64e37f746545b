import { ChatAnthropic } from '@langchain/anthropic'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOllama, OllamaEmbeddings } from '@langchain/ollama'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { startTalkingYard, type TalkingYard } from '../conformance/talking-yard.ts'

const KEY = 'sk-local-test'
const common = { model: 'talker', temperature: 0, maxRetries: 0 }

type Chat = ChatOpenAI | ChatAnthropic | ChatOllama

const CLIENTS: [string, (url: string) => Chat][] = [
  ['openai', (url) => new ChatOpenAI({ ...common, apiKey: KEY, configuration: { baseURL: `${url}/v1` } })],
  [
    'openai, responses',
    (url) =>
      new ChatOpenAI({ ...common, apiKey: KEY, useResponsesApi: true, configuration: { baseURL: `${url}/v1` } }),
  ],
  ['anthropic', (url) => new ChatAnthropic({ ...common, apiKey: KEY, anthropicApiUrl: url })],
  ['ollama', (url) => new ChatOllama({ ...common, baseUrl: url, headers: { Authorization: `Bearer ${KEY}` } })],
] // prettier-ignore

const weather = tool(() => 'mild', {
  name: 'get_weather',
  description: 'The weather of a city.',
  schema: z.object({ city: z.string() }),
})

describe.each(CLIENTS)('LangChain: @langchain/%s', (_name, clientAt) => {
  let talking: TalkingYard
  let chat: Chat
  beforeAll(async () => {
    talking = await startTalkingYard(KEY)
    chat = clientAt(talking.server.url)
  })
  afterAll(() => talking.yard.stop())

  it('invoke', async () => {
    const answer = await chat.invoke('Hi')
    expect(answer.text).toBe('Hello there, friend.')
    expect(answer.usage_metadata).toMatchObject({ output_tokens: expect.any(Number) as number })
  })

  it('stream', async () => {
    let text = ''
    for await (const chunk of await chat.stream('Hi')) text += chunk.text
    expect(text).toBe('Hello there, friend.')
  })

  it('bindTools: calls, and results that go back', async () => {
    const bound = chat.bindTools([weather])
    const question = new HumanMessage('weather')
    const answer = await bound.invoke([question])
    expect(answer.tool_calls?.map(({ args }) => args)).toEqual([{ city: 'Paris' }, { city: 'Rome' }])
    const results = (answer.tool_calls ?? []).map(
      ({ id = '', name }) => new ToolMessage({ content: 'mild', tool_call_id: id, name }),
    )
    expect((await bound.invoke([question, answer, ...results])).text).toBe('It is mild in both.')
  })

  it('an error', async () => {
    await expect(chat.invoke('crowd')).rejects.toThrow('Too many wait.')
  })
})

describe('LangChain: embeddings', () => {
  it('BR-33: texts through @langchain/openai and @langchain/ollama', async () => {
    const { yard, server } = await startTalkingYard(KEY)
    const openai = new OpenAIEmbeddings({
      model: 'vectors',
      apiKey: KEY,
      configuration: { baseURL: `${server.url}/v1` },
    })
    const headers = { Authorization: `Bearer ${KEY}` }
    const ollama = new OllamaEmbeddings({ model: 'vectors', baseUrl: server.url, headers })
    for (const embeddings of [openai, ollama]) {
      const vectors = await embeddings.embedDocuments(['a', 'b'])
      expect(vectors.map(({ length }) => length)).toEqual([64, 64])
    }
    await yard.stop()
  })
})
