import Anthropic, {
  APIError,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  OverloadedError,
  RateLimitError,
} from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ScriptEntry } from '../../src/engines/scripted/scripted-options.ts'
import type { Listening, Yard } from '../../src/yard.ts'
import { startTalkingYard } from './talking-yard.ts'

const KEY = 'sk-ant-local-test'

const TOOLS: Anthropic.Tool[] = [
  {
    name: 'get_weather',
    description: 'The weather of a city.',
    input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
]

/** What this dialect can tell beyond the common script: text before calls, and blocks in any order. */
const FIRST: ScriptEntry[] = [
  {
    match: '^weather',
    after: 'user',
    text: 'Let me look.',
    toolCalls: [
      { name: 'get_weather', arguments: ['{"city"', ':"Par', 'is"}'], id: 'call_paris' },
      { name: 'get_weather', arguments: ['{"city"', ':"Ro', 'me"}'], id: 'call_rome' },
    ],
  },
  { match: '^nothing', toolCalls: [{ name: 'get_weather', arguments: [], id: 'call_none' }] },
  {
    match: '^mixed',
    parts: [
      { reasoning: 'First I think.' },
      { text: 'Then I speak.' },
      { toolCall: { name: 'get_weather', arguments: ['{"city":', '"Oslo"}'], id: 'call_1' } },
      { reasoning: 'Once more.' },
      { toolCall: { name: 'get_weather', id: 'call_2' } },
    ],
  },
]

/** The official SDK against a real yard: what it sends must be understood, what it reads must be there. */
describe('H2: the official Anthropic SDK', () => {
  let yard: Yard
  let server: Listening
  let client: Anthropic

  beforeAll(async () => {
    ;({ yard, server } = await startTalkingYard(KEY, FIRST))
    client = new Anthropic({ baseURL: server.url, apiKey: KEY, maxRetries: 0 })
  })
  afterAll(() => yard.stop())

  const say = (content: string): Anthropic.MessageCreateParamsNonStreaming => ({
    model: 'talker',
    max_tokens: 1000,
    messages: [{ role: 'user', content }],
  })

  const textOf = ({ content }: Anthropic.Message): string =>
    content.map((block) => (block.type === 'text' ? block.text : '')).join('')

  describe('models', () => {
    it('list and retrieve in Anthropic’s shape, while OpenAI’s stays on the same path', async () => {
      const ids: string[] = []
      for await (const model of client.models.list({ limit: 1 })) ids.push(model.id)
      expect(ids.sort()).toEqual(['plain', 'talker', 'vectors'])
      expect(await client.models.retrieve('org/talker:Q4')).toMatchObject({ id: 'talker', type: 'model' })
      await expect(client.models.retrieve('nobody')).rejects.toThrow(NotFoundError)
      const headers = { authorization: `Bearer ${KEY}` }
      const other = (await (await fetch(`${server.url}/v1/models`, { headers })).json()) as object
      expect(other).toMatchObject({ object: 'list' })
      const own = (await (await fetch(`${server.url}/anthropic/v1/models`, { headers })).json()) as object
      expect(own).toMatchObject({ has_more: false })
    })
  })

  describe('messages', () => {
    it('create', async () => {
      const { data, response } = await client.messages.create(say('Hi')).withResponse()
      expect(data).toMatchObject({
        type: 'message',
        role: 'assistant',
        model: 'talker',
        content: [{ type: 'text', text: 'Hello there, friend.' }],
        stop_reason: 'end_turn',
        stop_sequence: null,
      })
      expect(data.id).toMatch(/^msg_/)
      expect((data as { _request_id?: string })._request_id).toBe(response.headers.get('x-request-id'))
      expect(response.headers.get('modelyard-model')).toBe('talker')
    })

    it('stream helper: the same text, the same usage', async () => {
      const question = say('Hi, how much is it?')
      const plain = await client.messages.create(question)
      let text = ''
      const stream = client.messages.stream(question).on('text', (delta) => (text += delta))
      const final = await stream.finalMessage()
      expect([text, textOf(final), final.stop_reason]).toEqual([
        'Hello there, friend.',
        'Hello there, friend.',
        'end_turn',
      ])
      const total = ({ usage }: Anthropic.Message): number[] => [
        usage.input_tokens + (usage.cache_read_input_tokens ?? 0),
        usage.output_tokens,
      ]
      expect(total(final)).toEqual(total(plain))
    })

    it('an alias is answered under the name that was asked for (BR-37)', async () => {
      expect((await client.messages.create({ ...say('Hi'), model: 'org/talker:Q4' })).model).toBe(
        'org/talker:Q4',
      )
    })

    it('BR-52: what was reused is counted once, as cache_read_input_tokens', async () => {
      const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Tell me about rivers and seas' }]
      const first = await client.messages.create({ ...say(''), messages })
      messages.push({ role: 'assistant', content: first.content }, { role: 'user', content: 'And lakes' })
      const counted = await client.messages.countTokens({ model: 'talker', messages })
      const { usage } = await client.messages.create({ ...say(''), messages })
      expect(usage.cache_read_input_tokens).toBeGreaterThan(0)
      expect(usage.input_tokens + (usage.cache_read_input_tokens ?? 0)).toBe(counted.input_tokens)
    })

    it('BR-02: characters made of several tokens stay whole', async () => {
      const streamed = await client.messages.stream(say('emoji')).finalText()
      expect([textOf(await client.messages.create(say('emoji'))), streamed]).toEqual([' 😸你', ' 😸你'])
    })

    it('BR-06: max_tokens cuts and says so', async () => {
      const answer = await client.messages.create({ ...say('long'), max_tokens: 5 })
      expect([answer.stop_reason, answer.usage.output_tokens]).toEqual(['max_tokens', 5])
    })

    it.each([false, true])(
      'BR-41: a stop sequence over token borders ends the text before it, streamed %j',
      async (streamed) => {
        const question = { ...say('greek'), stop_sequences: ['beta gamma', 'beta gamma delta', 'zeta'] }
        const answer = streamed
          ? await client.messages.stream(question).finalMessage()
          : await client.messages.create(question)
        expect([textOf(answer), answer.stop_reason, answer.stop_sequence]).toEqual([
          'alpha ',
          'stop_sequence',
          'beta gamma',
        ])
      },
    )

    it('BR-41: what was held back for a stop sequence that did not come is sent', async () => {
      const question = { ...say('greek'), stop_sequences: ['beta gamma epsilon'] }
      expect(await client.messages.stream(question).finalText()).toBe('alpha beta gamma delta')
    })

    it('a last message of the assistant is continued; system blocks and turns arrive', async () => {
      const answer = await client.messages.create({
        ...say(''),
        system: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } }],
        messages: [
          { role: 'user', content: 'what did you see' },
          { role: 'assistant', content: 'I saw' },
        ],
      })
      expect(textOf(answer)).toBe('Be kind. what did you see I saw')
    })

    it('parse with a JSON schema', async () => {
      const answer = await client.messages.parse({
        ...say('json'),
        output_config: { format: { type: 'json_schema', schema: { type: 'object', properties: {} } } },
      })
      expect(answer.content[0]).toMatchObject({ type: 'text', text: '{"name":"Ada","age":36}' })
    })
  })

  describe('tools (BR-03)', () => {
    it.each([false, true])('two parallel calls come whole, streamed %j', async (streamed) => {
      const question = { ...say('weather?'), tools: TOOLS, tool_choice: { type: 'any' as const } }
      const answer = streamed
        ? await client.messages.stream(question).finalMessage()
        : await client.messages.create(question)
      expect(answer.stop_reason).toBe('tool_use')
      expect(answer.content).toMatchObject([
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_use', id: 'call_paris', name: 'get_weather', input: { city: 'Paris' } },
        { type: 'tool_use', id: 'call_rome', name: 'get_weather', input: { city: 'Rome' } },
      ])
    })

    it.each([false, true])(
      'BR-42: a call without arguments has the input {}, streamed %j',
      async (streamed) => {
        const question = { ...say('nothing'), tools: TOOLS }
        const answer = streamed
          ? await client.messages.stream(question).finalMessage()
          : await client.messages.create(question)
        expect(answer.content).toMatchObject([{ type: 'tool_use', input: {} }])
      },
    )

    it.each([false, true])(
      'the tool runner runs them and gets the last answer, streamed %j',
      async (stream) => {
        const asked: string[] = []
        const runner = client.beta.messages.toolRunner({
          ...say('weather?'),
          stream,
          tools: [
            {
              ...TOOLS[0],
              name: 'get_weather',
              type: 'custom',
              input_schema: { type: 'object', properties: { city: { type: 'string' } } },
              parse: (input: unknown) => input as { city: string },
              run: ({ city }: { city: string }) => {
                asked.push(city)
                return `mild in ${city}`
              },
            },
          ],
        })
        const final = await runner.runUntilDone()
        expect(final.content).toMatchObject([{ type: 'text', text: 'It is mild in both.' }])
        expect(asked.sort()).toEqual(['Paris', 'Rome'])
      },
    )
  })

  describe('thinking', () => {
    it('BR-42: think, text, tool, think, tool arrive as five blocks, one after the other', async () => {
      const question = { ...say('mixed'), tools: TOOLS, max_tokens: 4000 }
      const expected = [
        { type: 'thinking', thinking: 'First I think.', signature: expect.stringMatching(/./) as string },
        { type: 'text', text: 'Then I speak.' },
        { type: 'tool_use', id: 'call_1', input: { city: 'Oslo' } },
        { type: 'thinking', thinking: 'Once more.', signature: expect.stringMatching(/./) as string },
        { type: 'tool_use', id: 'call_2', input: {} },
      ]
      const stream = client.messages.stream(question)
      const done: string[] = []
      stream.on('contentBlock', ({ type }) => done.push(type))
      const final = await stream.finalMessage()
      expect(final.content).toMatchObject(expected)
      expect(done).toEqual(['thinking', 'text', 'tool_use', 'thinking', 'tool_use'])
      expect((await client.messages.create(question)).content).toMatchObject(expected)
      expect(final.usage.input_tokens).toBeGreaterThan(0)
      expect(final.usage.output_tokens_details?.thinking_tokens).toBe(2)
    })

    it('its own answer comes back as history', async () => {
      const question = { ...say('weather?'), tools: TOOLS }
      const first = await client.messages.create(question)
      const results = first.content.flatMap((block) =>
        block.type === 'tool_use'
          ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'mild' }]
          : [],
      )
      const answer = await client.messages.create({
        ...question,
        messages: [
          ...question.messages,
          { role: 'assistant', content: first.content },
          { role: 'user', content: results },
        ],
      })
      expect(textOf(answer)).toBe('It is mild in both.')
    })

    it('disabled means none', async () => {
      const answer = await client.messages.create({ ...say('think'), thinking: { type: 'disabled' } })
      expect(answer.content).toMatchObject([{ type: 'text', text: 'Done.' }])
    })
  })

  describe('count_tokens (BR-40)', () => {
    const fetchCount = async (path: string, body: object): Promise<Response> =>
      await fetch(server.url + path, {
        method: 'POST',
        headers: { 'x-api-key': KEY, 'content-type': 'application/json', 'anthropic-beta': 'a,b' },
        body: JSON.stringify(body),
      })

    it.each([
      ['a plain question', {}],
      ['tools', { tools: TOOLS }],
      ['a system text', { system: 'Count every word of it.' }],
      [
        'system blocks',
        { system: [{ type: 'text' as const, text: 'Be', cache_control: { type: 'ephemeral' as const } }] },
      ],
      [
        'an image',
        {
          messages: [
            {
              role: 'user' as const,
              content: [
                {
                  type: 'image' as const,
                  source: { type: 'base64' as const, media_type: 'image/png' as const, data: 'iVBORw==' },
                },
              ],
            },
          ],
        },
      ],
    ])('%s: as many as the message itself has', async (what, fields) => {
      const prompt = { model: 'talker', messages: say(`count ${what}`).messages, ...fields }
      const { input_tokens } = await client.messages.countTokens(prompt)
      const { usage } = await client.messages.create({ ...prompt, max_tokens: 1 })
      expect(input_tokens).toBeGreaterThan(0)
      expect(input_tokens).toBe(usage.input_tokens + (usage.cache_read_input_tokens ?? 0))
    })

    it('queries and beta headers are ignored, unknown paths and models are 404s in Anthropic’s shape', async () => {
      const { model, messages } = say('Hi')
      const fine = await fetchCount('/v1/messages/count_tokens?beta=true', { model, messages })
      expect([fine.status, Object.keys((await fine.json()) as object)]).toEqual([200, ['input_tokens']])
      const lost = await fetchCount('/v1/messages/count?beta=true', { model, messages })
      expect([lost.status, await lost.json()]).toEqual([
        404,
        {
          type: 'error',
          error: { type: 'not_found_error', message: expect.any(String) as string },
          request_id: lost.headers.get('request-id'),
        },
      ])
      await expect(client.messages.countTokens({ model: 'nobody', messages })).rejects.toThrow(NotFoundError)
    })
  })

  describe('errors as the SDK’s classes', () => {
    const create = (fields: object): Promise<unknown> => client.messages.create({ ...say('Hi'), ...fields })
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const words = Array.from({ length: 300 }, () => 'word').join(' ')

    it.each([
      ['a wrong field', { temperature: 9 }, BadRequestError, 400, 'invalid_request_error', 'temperature'],
      ['no limit', { max_tokens: undefined }, BadRequestError, 400, 'invalid_request_error', 'max_tokens'],
      ['a tool of theirs', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, BadRequestError, 400, 'invalid_request_error', 'tools[0].type'],
      ['an unknown model', { model: 'nobody' }, NotFoundError, 404, 'not_found_error', 'nobody'],
      ['BR-10: an image for a model without eyes', { model: 'plain', messages: [{ role: 'user', content: [image] }] }, BadRequestError, 400, 'invalid_request_error', 'does not support images'],
      ['thinking of a model that cannot', { model: 'plain', max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 } }, BadRequestError, 400, 'invalid_request_error', 'does not support reasoning'],
      ['a prefill that cannot be', { model: 'plain', messages: [{ role: 'assistant', content: 'I' }] }, BadRequestError, 400, 'invalid_request_error', 'does not support prefill'],
      ['a full queue', say('crowd'), RateLimitError, 429, 'rate_limit_error', 'Too many wait.'],
      ['no memory', say('full'), OverloadedError, 529, 'overloaded_error', 'No room.'],
      ['BR-07: a prompt that is too long', { ...say(words), model: 'plain' }, BadRequestError, 400, 'invalid_request_error', 'prompt is too long: 303 tokens > 128 maximum'],
      ['a body that is too large', say('x'.repeat(3_000_000)), APIError, 413, 'request_too_large', '2'],
    ])('%s', async (_what, fields, kind, status, type, words_) => {
      const error: unknown = await create(fields).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(kind)
      expect(error).toMatchObject({
        status,
        type,
        message: expect.stringContaining(words_) as string,
        requestID: expect.stringMatching(/^req_/) as string,
      })
    }) // prettier-ignore

    it('overload and a full queue say when to try again', async () => {
      for (const question of ['crowd', 'full']) {
        const error = (await create(say(question)).catch((thrown: unknown) => thrown)) as APIError
        expect(Number(error.headers?.get('retry-after'))).toBeGreaterThan(0)
      }
    })

    it('BR-43: the key in either header, none and a wrong one', async () => {
      const bearer = new Anthropic({ baseURL: server.url, apiKey: null, authToken: KEY, maxRetries: 0 })
      expect((await bearer.messages.create(say('Hi'))).role).toBe('assistant')
      const stranger = new Anthropic({ baseURL: server.url, apiKey: 'wrong', maxRetries: 0 })
      await expect(stranger.messages.create(say('Hi'))).rejects.toThrow(AuthenticationError)
      await expect(stranger.models.list()).rejects.toMatchObject({
        status: 401,
        type: 'authentication_error',
      })
    })

    it('BR-09: a failure in mid-stream is thrown, after the text that came', async () => {
      let text = ''
      const stream = client.messages.stream(say('break')).on('text', (delta) => (text += delta))
      await expect(stream.finalMessage()).rejects.toMatchObject({
        type: 'api_error',
        message: expect.stringContaining('The engine gave up.') as string,
      })
      expect(text).toBe('one two three')
      expect((await client.messages.create(say('Hi'))).stop_reason).toBe('end_turn')
    })

    it('BR-13: a stream that is left frees its slot', async () => {
      const stream = await client.messages.create({ ...say('forever'), stream: true })
      for await (const event of stream) if (event.type === 'content_block_delta') break
      await expect.poll(() => yard.state().runs.active).toBe(0)
    })
  })
})
