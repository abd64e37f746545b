import OpenAI, { APIError, BadRequestError, NotFoundError, RateLimitError } from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Listening, Yard } from '../../src/yard.ts'
import { startTalkingYard } from './talking-yard.ts'

const KEY = 'sk-local-test'

const WEATHER: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: false,
}

type Events = OpenAI.Responses.ResponseStreamEvent[]

/** The official SDK against a real yard: what it sends must be understood, what it reads must be there. */
describe('the official OpenAI SDK: responses', () => {
  let yard: Yard
  let server: Listening
  let client: OpenAI
  beforeAll(async () => {
    ;({ yard, server } = await startTalkingYard(KEY, [{ match: '^(write|say) ', text: 'A poem.' }]))
    client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: KEY, maxRetries: 0 })
  })
  afterAll(() => yard.stop())

  const ask = (input: OpenAI.Responses.ResponseInput | string) => ({ model: 'talker', input })

  async function eventsOf(input: string, more: object = {}): Promise<Events> {
    const events: Events = []
    for await (const event of await client.responses.create({ ...ask(input), ...more, stream: true }))
      events.push(event)
    return events
  }

  it('create: text, usage and settings', async () => {
    const { data, response } = await client.responses
      .create({ ...ask('Hi'), instructions: 'Be short.', temperature: 0, metadata: { thread: '7' } })
      .withResponse()
    expect(data).toMatchObject({
      object: 'response',
      status: 'completed',
      output_text: 'Hello there, friend.',
      model: 'talker',
      instructions: 'Be short.',
      temperature: 0,
      metadata: { thread: '7' },
      error: null,
      incomplete_details: null,
    })
    const { input_tokens = 0, output_tokens = 0, total_tokens } = data.usage ?? {}
    expect(input_tokens).toBeGreaterThan(0)
    expect(output_tokens).toBeGreaterThan(0)
    expect(total_tokens).toBe(input_tokens + output_tokens)
    expect(response.headers.get('modelyard-model')).toBe('talker')
  })

  it('create, streamed: the text as it comes, and the same response at the end', async () => {
    const events = await eventsOf('Hi')
    const text = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''))
    expect(text.join('')).toBe('Hello there, friend.')
    expect(text.filter((piece) => piece !== '').length).toBeGreaterThan(1)
    const last = events.at(-1)
    if (last?.type !== 'response.completed') throw new Error(`ended with ${last?.type}`)
    const plain = await client.responses.create(ask('Hi'))
    const { input_tokens, output_tokens } = plain.usage ?? {}
    expect(last.response.usage).toMatchObject({ input_tokens, output_tokens })
  })

  it('stream helper: events and the final response', async () => {
    const deltas: string[] = []
    const stream = client.responses.stream(ask('Hi'))
    stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta))
    expect((await stream.finalResponse()).output_text).toBe('Hello there, friend.')
    expect(deltas.join('')).toBe('Hello there, friend.')
  })

  it('BR-02: characters that come in halves are whole in each event', async () => {
    const events = await eventsOf('emoji')
    expect(JSON.stringify(events)).not.toContain('\uFFFD')
    const last = events.at(-1)
    expect(last?.type === 'response.completed' && last.response.output[0]).toMatchObject({
      content: [{ text: ' 😸你' }],
    })
  })

  it('tools: calls, and a turn built of what came back', async () => {
    const first = await client.responses.create({ ...ask('weather'), tools: [WEATHER] })
    const calls = first.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
    expect(calls).toMatchObject([
      { call_id: 'call_paris', name: 'get_weather', arguments: '{"city":"Paris"}' },
      { call_id: 'call_rome', name: 'get_weather', arguments: '{"city":"Rome"}' },
    ])
    const outputs = calls.map(({ call_id }) => ({
      type: 'function_call_output' as const,
      call_id,
      output: '{"degrees":20}',
    }))
    const second = await client.responses.create({
      ...ask([{ role: 'user', content: 'weather' }, ...first.output, ...outputs] as never),
      tools: [WEATHER],
    })
    expect(second.output_text).toBe('It is mild in both.')
  })

  it('BR-03, tools streamed: the helper joins the arguments of two calls', async () => {
    const stream = client.responses.stream({ ...ask('weather'), tools: [WEATHER] })
    const { output } = await stream.finalResponse()
    expect(output).toMatchObject([
      { type: 'function_call', arguments: '{"city":"Paris"}', call_id: 'call_paris' },
      { type: 'function_call', arguments: '{"city":"Rome"}', call_id: 'call_rome' },
    ])
  })

  it('reasoning: an item of its own before the text, streamed and not', async () => {
    const shape = [
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Let me see. ' }] },
      { type: 'message', content: [{ type: 'output_text', text: 'Done.' }] },
    ]
    const asked = { ...ask('think'), reasoning: { effort: 'low' } as const }
    expect((await client.responses.create(asked)).output).toMatchObject(shape)
    const final = await client.responses.stream(asked).finalResponse()
    expect(final.output).toMatchObject(shape)
    expect(final.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(0)
  })

  it('structured output: parsed by the helper', async () => {
    const Person = z.object({ name: z.string(), age: z.number() })
    const { output_parsed } = await client.responses.parse({
      ...ask('json'),
      text: { format: zodTextFormat(Person, 'person') },
    })
    expect(output_parsed).toEqual({ name: 'Ada', age: 36 })
  })

  it('BR-06: max_output_tokens cuts, and says so', async () => {
    const cut = await client.responses.create({ ...ask('long'), max_output_tokens: 5 })
    expect(cut).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      usage: { output_tokens: 5 },
    })
    const events = await eventsOf('long', { max_output_tokens: 5 })
    expect(events.at(-1)?.type).toBe('response.incomplete')
  })

  it('logprobs, where they are asked for', async () => {
    const { output } = await client.responses.create({
      ...ask('odds'),
      include: ['message.output_text.logprobs'],
    })
    expect(output[0]).toMatchObject({
      content: [{ logprobs: [{ token: 'He', logprob: -0.25 }, { token: 'llo', logprob: -0.5 }] }],
    }) // prettier-ignore
  })

  describe('errors', () => {
    it.each([
      ['no such model', { model: 'nobody' }, NotFoundError, { code: 'model_not_found' }],
      ['a field of a wrong type', { temperature: 'hot' }, BadRequestError, { param: 'temperature' }],
      ['a tool of the API itself', { tools: [{ type: 'web_search' }] }, APIError, { status: 501, param: 'tools[0].type' }],
      ['a response before this one', { previous_response_id: 'resp_1' }, APIError, { status: 501, param: 'previous_response_id' }],
      ['an item by its id', { input: [{ type: 'item_reference', id: 'msg_1' }] }, APIError, { status: 501, param: 'input[0].type' }],
      ['a queue that is full', { input: 'crowd' }, RateLimitError, { code: 'rate_limit_exceeded' }],
      ['BR-07: a prompt that is too long', { input: 'huge' }, BadRequestError, { code: 'context_length_exceeded' }],
    ])('%s', async (_what, fields, kind, expected) => {
      const asked = { ...ask('Hi'), ...fields } as OpenAI.Responses.ResponseCreateParamsNonStreaming
      const error: unknown = await client.responses.create(asked).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(kind)
      expect(error).toMatchObject(expected)
    }) // prettier-ignore

    it('BR-09: a failure in mid-stream is thrown, after the text that came', async () => {
      let text = ''
      const stream = await client.responses.create({ ...ask('break'), stream: true })
      const reading = (async () => {
        for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta
      })()
      await expect(reading).rejects.toThrow('The engine gave up.')
      expect(text).toBe('one two three')
    })
  })

  it('BR-13: leaving a stream gives the slot back at once', async () => {
    let deltas = 0
    for await (const event of await client.responses.create({ ...ask('forever'), stream: true })) {
      if (event.type === 'response.output_text.delta' && ++deltas >= 3) break
    }
    await expect.poll(() => yard.state().runs.active).toBe(0)
  })
})
