import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Listening, Yard } from '../../src/yard.ts'
import { eventually } from '../http/test-server.ts'
import { AT_ONCE, soonest } from '../soonest.ts'
import { startTalkingYard } from './talking-yard.ts'

const KEY = 'sk-local-test'

/** The official SDK against a real yard: what it sends must be understood, what it reads must be there. */
describe('H1: the official OpenAI SDK', () => {
  let yard: Yard
  let server: Listening
  let client: OpenAI

  beforeAll(async () => {
    ;({ yard, server } = await startTalkingYard(KEY))
    client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: KEY, maxRetries: 0 })
  })
  afterAll(() => yard.stop())

  const say = (content: string): { model: string; messages: { role: 'user'; content: string }[] } => ({
    model: 'talker',
    messages: [{ role: 'user', content }],
  })

  describe('models', () => {
    it('list', async () => {
      const ids: string[] = []
      for await (const model of client.models.list()) ids.push(model.id)
      expect(ids.sort()).toEqual(['plain', 'talker', 'vectors'])
    })

    it('retrieve, by an alias with slashes too', async () => {
      expect(await client.models.retrieve('talker')).toMatchObject({ id: 'talker', object: 'model' })
      expect(await client.models.retrieve('org/talker:Q4')).toMatchObject({ id: 'talker' })
      await expect(client.models.retrieve('nobody')).rejects.toThrow(NotFoundError)
    })
  })

  describe('chat', () => {
    it('E2: several choices, plain and streamed, with the prompt counted once', async () => {
      const one = await client.chat.completions.create(say('Hi'))
      const { choices, usage } = await client.chat.completions.create({ ...say('Hi'), n: 3 })
      const texts = choices.map(({ index, message, finish_reason }) => [
        index,
        message.content,
        finish_reason,
      ])
      expect(texts).toEqual([0, 1, 2].map((index) => [index, 'Hello there, friend.', 'stop']))
      expect(usage?.prompt_tokens).toBe(one.usage?.prompt_tokens)
      expect(usage?.completion_tokens).toBe(3 * (one.usage?.completion_tokens ?? 0))
      const stream = client.chat.completions.stream({
        ...say('Hi'),
        n: 3,
        stream_options: { include_usage: true },
      })
      const streamed = await stream.finalChatCompletion()
      expect(streamed.choices.map(({ index, message }) => [index, message.content])).toEqual(
        texts.map(([index, text]) => [index, text]),
      )
      expect(streamed.usage?.total_tokens).toBe(usage?.total_tokens)
    })

    it('E2: several choices of several prompts of a completion', async () => {
      const { choices, usage } = await client.completions.create({
        model: 'talker',
        prompt: ['Hi', 'Ho'],
        n: 2,
      })
      expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3])
      const pair = await client.completions.create({ model: 'talker', prompt: ['Hi', 'Ho'] })
      expect(usage?.prompt_tokens).toBe(pair.usage?.prompt_tokens)
      expect(usage?.completion_tokens).toBe(2 * (pair.usage?.completion_tokens ?? 0))
    })

    it('create', async () => {
      const { data, response } = await client.chat.completions
        .create({ ...say('Hi'), temperature: 0 })
        .withResponse()
      expect(data.choices).toEqual([
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello there, friend.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ])
      expect(data.model).toBe('talker')
      expect(data.usage?.total_tokens).toBe(
        (data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0),
      )
      expect(data.usage?.completion_tokens).toBeGreaterThan(0)
      expect((data as { _request_id?: string })._request_id).toBe(response.headers.get('x-request-id'))
      expect(response.headers.get('modelyard-model')).toBe('talker')
    })

    it('create with stream: the same text, one finish reason, no usage unless asked (BR-01)', async () => {
      const chunks: OpenAI.ChatCompletionChunk[] = []
      for await (const chunk of await client.chat.completions.create({ ...say('Hi'), stream: true }))
        chunks.push(chunk)
      expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(
        'Hello there, friend.',
      )
      expect(chunks.filter((chunk) => chunk.choices[0]?.delta.role !== undefined)).toHaveLength(1)
      expect(chunks.filter((chunk) => chunk.choices[0]?.finish_reason === 'stop')).toHaveLength(1)
      expect(chunks.every((chunk) => chunk.choices.length === 1 && chunk.usage === undefined)).toBe(true)
      expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1)
    })

    it('stream helper: content, final usage and finish', async () => {
      const stream = client.chat.completions.stream({ ...say('Hi'), stream_options: { include_usage: true } })
      let text = ''
      stream.on('content', (delta) => (text += delta))
      const final = await stream.finalChatCompletion()
      expect([text, final.choices[0]?.message.content, final.choices[0]?.finish_reason]).toEqual([
        'Hello there, friend.',
        'Hello there, friend.',
        'stop',
      ])
      const plain = await client.chat.completions.create(say('Hi'))
      // Reuse may differ from one to the other; the counts may not.
      expect(final.usage).toMatchObject({
        prompt_tokens: plain.usage?.prompt_tokens,
        completion_tokens: plain.usage?.completion_tokens,
        total_tokens: plain.usage?.total_tokens,
      })
    })

    it('BR-02: characters made of several tokens stay whole', async () => {
      const plain = await client.chat.completions.create(say('emoji'))
      const streamed = await client.chat.completions.stream(say('emoji')).finalContent()
      expect([plain.choices[0]?.message.content, streamed]).toEqual([' 😸你', ' 😸你'])
    })

    it('reasoning comes beside the content', async () => {
      const answer = await client.chat.completions.create({ ...say('think'), reasoning_effort: 'low' })
      expect(answer.choices[0]?.message).toMatchObject({
        content: 'Done.',
        reasoning_content: 'Let me see. ',
      })
      expect(answer.usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(0)
    })

    it('logprobs', async () => {
      const answer = await client.chat.completions.create({ ...say('odds'), logprobs: true, top_logprobs: 1 })
      expect(answer.choices[0]?.logprobs?.content?.map(({ token, logprob }) => [token, logprob])).toEqual([
        ['He', -0.25],
        ['llo', -0.5],
      ])
    })

    it('parse with a zod schema', async () => {
      const person = z.object({ name: z.string(), age: z.number() })
      const answer = await client.chat.completions.parse({
        ...say('json'),
        response_format: zodResponseFormat(person, 'person'),
      })
      expect(answer.choices[0]?.message.parsed).toEqual({ name: 'Ada', age: 36 })
    })

    it('BR-06: max_completion_tokens cuts and says so', async () => {
      const answer = await client.chat.completions.create({
        ...say('long'),
        max_completion_tokens: 5,
        max_tokens: 100,
      })
      expect([answer.choices[0]?.finish_reason, answer.usage?.completion_tokens]).toEqual(['length', 5])
    })

    it('BR-41: a stop string ends the text before it', async () => {
      const answer = await client.chat.completions.create({ ...say('Hi'), stop: ['friend', 'never'] })
      expect([answer.choices[0]?.message.content, answer.choices[0]?.finish_reason]).toEqual([
        'Hello there, ',
        'stop',
      ])
    })
  })

  describe('tools (BR-03)', () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const tools: OpenAI.ChatCompletionTool[] = [
      { type: 'function', function: { name: 'get_weather', parameters } },
    ]

    it('calls come whole', async () => {
      const answer = await client.chat.completions.create({ ...say('weather?'), tools })
      expect(answer.choices[0]).toMatchObject({
        finish_reason: 'tool_calls',
        message: {
          content: null,
          tool_calls: [
            { type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
            { type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
          ],
        },
      })
    })

    it('stream helper joins two parallel calls from their fragments', async () => {
      const stream = client.chat.completions.stream({ ...say('weather?'), tools })
      const names: string[] = []
      stream.on('tool_calls.function.arguments.done', ({ name, index, arguments: text }) =>
        names.push(`${index} ${name} ${text}`),
      )
      const final = await stream.finalChatCompletion()
      expect(names).toEqual(['0 get_weather {"city":"Paris"}', '1 get_weather {"city":"Rome"}'])
      const calls = final.choices[0]?.message.tool_calls ?? []
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
    })

    for (const stream of [false, true]) {
      it(`runTools runs them and gets the last answer, ${stream ? 'streamed' : 'in one piece'}`, async () => {
        const asked: string[] = []
        const run = {
          ...say('weather?'),
          tools: [
            {
              type: 'function' as const,
              function: {
                name: 'get_weather',
                parameters,
                parse: (text: string) => JSON.parse(text) as { city: string },
                function: ({ city }: { city: string }) => {
                  asked.push(city)
                  return `mild in ${city}`
                },
                description: 'The weather of a city.',
              },
            },
          ],
        }
        const runner = stream
          ? client.chat.completions.runTools({ ...run, stream: true })
          : client.chat.completions.runTools(run)
        expect(await runner.finalContent()).toBe('It is mild in both.')
        expect(asked.sort()).toEqual(['Paris', 'Rome'])
      })
    }
  })

  describe('completions', () => {
    it('create, for several prompts', async () => {
      const answer = await client.completions.create({
        model: 'talker',
        prompt: ['Once', 'json'],
        max_tokens: 50,
      })
      expect(answer.choices.map(({ text, index }) => [index, text])).toEqual([
        [0, 'Hello there, friend.'],
        [1, '{"name":"Ada","age":36}'],
      ])
    })

    it('BR-01: stream with usage', async () => {
      const chunks: OpenAI.Completion[] = []
      const stream = await client.completions.create({
        model: 'talker',
        prompt: 'Once',
        stream: true,
        stream_options: { include_usage: true },
      })
      for await (const chunk of stream) chunks.push(chunk)
      expect(chunks.flatMap(({ choices }) => choices.map(({ text }) => text)).join('')).toBe(
        'Hello there, friend.',
      )
      expect(chunks.map(({ choices }) => choices.length)).toEqual([...chunks.slice(1).map(() => 1), 0])
      expect(chunks.at(-1)?.usage?.completion_tokens).toBeGreaterThan(0)
    })

    it('the default of 16 tokens holds', async () => {
      const answer = await client.completions.create({ model: 'talker', prompt: 'long' })
      expect([answer.usage?.completion_tokens, answer.choices[0]?.finish_reason]).toEqual([16, 'length'])
    })
  })

  describe('embeddings', () => {
    it('BR-32: the SDK’s default (base64) and float agree', async () => {
      const [byDefault, float] = [
        await client.embeddings.create({ model: 'vectors', input: ['a', 'b', 'a'] }),
        await client.embeddings.create({
          model: 'vectors',
          input: ['a', 'b', 'a'],
          encoding_format: 'float',
        }),
      ]
      expect(byDefault.data.map(({ index, embedding }) => [index, embedding.length])).toEqual([
        [0, 64],
        [1, 64],
        [2, 64],
      ])
      expect(byDefault.data.map(({ embedding }) => embedding)).toEqual(
        float.data.map(({ embedding }) => embedding),
      )
      expect(float.data[0]?.embedding).toEqual(float.data[2]?.embedding)
      expect(byDefault.usage).toEqual({ prompt_tokens: 3, total_tokens: 3 })
    })

    it('BR-32: dimensions are honoured and normalised', async () => {
      const { data } = await client.embeddings.create({ model: 'vectors', input: 'a', dimensions: 8 })
      const [vector] = data.map(({ embedding }) => embedding)
      expect(vector).toHaveLength(8)
      expect(Math.hypot(...(vector ?? []))).toBeCloseTo(1, 5)
    })

    it('BR-34: a batch equals its single vectors', async () => {
      const input = Array.from({ length: 65 }, (_, index) => `text ${index}`)
      const { data } = await client.embeddings.create({ model: 'vectors', input })
      for (const index of [0, 31, 64]) {
        const single = await client.embeddings.create({ model: 'vectors', input: input[index] ?? '' })
        expect(data[index]?.embedding).toEqual(single.data[0]?.embedding)
      }
    })

    it('token ids, and one that the model does not have', async () => {
      const { data } = await client.embeddings.create({ model: 'vectors', input: [[1, 2], [3]] })
      expect(data).toHaveLength(2)
      await expect(client.embeddings.create({ model: 'vectors', input: [1, 10_000_000] })).rejects.toThrow(
        BadRequestError,
      )
    })
  })

  describe('errors as the SDK’s classes', () => {
    const create = (fields: object): Promise<unknown> =>
      client.chat.completions.create({
        ...say('Hi'),
        ...fields,
      } as OpenAI.ChatCompletionCreateParamsNonStreaming)

    it.each([
      [
        'a wrong field',
        { temperature: 9 },
        BadRequestError,
        { status: 400, param: 'temperature', type: 'invalid_request_error', code: 'invalid_request' },
      ],
      ['an unknown model', { model: 'nobody' }, NotFoundError, { status: 404, code: 'model_not_found' }],
      [
        'a model for another task',
        { model: 'vectors' },
        BadRequestError,
        { status: 400, code: 'unsupported' },
      ],
      [
        'something not supported',
        { store: true },
        InternalServerError,
        { status: 501, param: 'store', code: 'unsupported' },
      ],
      ['a full queue', say('crowd'), RateLimitError, { status: 429, code: 'rate_limit_exceeded' }],
      [
        'BR-07: a prompt that is too long',
        say('huge'),
        BadRequestError,
        {
          status: 400,
          code: 'context_length_exceeded',
          message: expect.stringContaining('maximum context length') as string,
        },
      ],
      [
        'a body that is too large',
        say('x'.repeat(3_000_000)),
        APIError,
        { status: 413, code: 'payload_too_large' },
      ],
    ])('%s', async (_what, fields, kind, expected) => {
      const error: unknown = await create(fields).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(kind)
      expect(error).toMatchObject({ ...expected, requestID: expect.stringMatching(/^req_/) as string })
    })

    it('a wrong key', async () => {
      const stranger = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'wrong', maxRetries: 0 })
      await expect(stranger.models.list()).rejects.toThrow(AuthenticationError)
    })

    it('a base URL without /v1', async () => {
      const lost = new OpenAI({ baseURL: server.url, apiKey: KEY, maxRetries: 0 })
      await expect(lost.models.list()).rejects.toThrow(/v1/)
    })

    it('BR-09: a failure in mid-stream is thrown, after the text that came', async () => {
      let text = ''
      const stream = await client.chat.completions.create({ ...say('break'), stream: true })
      const reading = (async () => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      })()
      await expect(reading).rejects.toThrow('The engine gave up.')
      expect(text).toBe('one two three')
      expect((await client.chat.completions.create(say('Hi'))).choices[0]?.finish_reason).toBe('stop')
    })

    it('the SDK does not repeat what cannot work', async () => {
      let requests = 0
      const eager = new OpenAI({
        baseURL: `${server.url}/v1`,
        apiKey: KEY,
        maxRetries: 2,
        fetch: (url, init) => {
          requests++
          return fetch(url, init)
        },
      })
      await expect(eager.chat.completions.create({ ...say('Hi'), store: true })).rejects.toThrow(APIError)
      expect(requests).toBe(1)
    })
  })

  it('BR-13: aborting a stream through the SDK gives the slot back at once', async () => {
    const took = await soonest(async () => {
      const stream = await client.chat.completions.create({ ...say('forever'), stream: true })
      let chunks = 0
      for await (const chunk of stream) {
        chunks += chunk.choices.length
        if (chunks >= 3) break
      }
      return await eventually(() => yard.state().runs.active === 0)
    })
    expect(took).toBeLessThan(AT_ONCE)
  })
})
