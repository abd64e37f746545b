import { join } from 'node:path'
import OpenAI, { APIError, BadRequestError, NotFoundError } from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestHome } from '../cli/program.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { ENDLESS, FIXED, HAS_LLAMA, openHome, serve, type ServedYard } from './harness.ts'

type Asked = OpenAI.ChatCompletionMessageParam[]

const HELLO = 'Hello, how are you today?'
const COUNT = 'one two three four five six seven eight nine ten'

describe.runIf(HAS_LLAMA)('the official OpenAI SDK against `modelyard serve` with real weights', () => {
  let home: TestHome
  let served: ServedYard
  let client: OpenAI
  beforeAll(async () => {
    home = await openHome()
    const vectors = join(home.path, 'vectors.gguf')
    makeTinyModel(vectors, { pooling: 'mean', causal: false, dimension: 128 })
    await home.configure({
      models: {
        'org/tiny-chat:F32': { file: TINY_CHAT, context: 1024, aliases: 'tiny' },
        vectors: { file: vectors, context: 512 },
        talker: {
          engine: 'scripted',
          script: [
            { match: 'break', text: 'half', error: { at: 1, message: 'It broke.' } },
            { text: 'scripted' },
          ],
        },
      },
    })
    served = await serve(home)
    client = new OpenAI({ baseURL: `${served.program.url}/v1`, apiKey: 'none needed', maxRetries: 0 })
  })
  afterAll(async () => {
    await served.stop()
    await home.remove()
  })

  const ask = (messages: Asked | string): { model: string; temperature: number; messages: Asked } => ({
    model: 'tiny',
    temperature: 0,
    messages: typeof messages === 'string' ? [{ role: 'user', content: messages }] : messages,
  })

  it('models: list, and one by its name with slashes or by an alias', async () => {
    const ids: string[] = []
    for await (const { id, object } of client.models.list()) ids.push(`${object} ${id}`)
    expect(ids.sort()).toEqual(['model org/tiny-chat:F32', 'model talker', 'model vectors'])
    expect(await client.models.retrieve('org/tiny-chat:F32')).toMatchObject({
      id: 'org/tiny-chat:F32',
      object: 'model',
    })
    expect(await client.models.retrieve('tiny')).toMatchObject({ id: 'org/tiny-chat:F32' })
    await expect(client.models.retrieve('org/nobody')).rejects.toThrow(NotFoundError)
  })

  it.each(FIXED)(
    'chat: the right text for $messages.length messages, with exact counts: $answer',
    async ({ messages, answer }) => {
      const { choices, usage } = await client.chat.completions.create(ask(messages as Asked))
      expect(choices[0]).toMatchObject({
        message: { role: 'assistant', content: answer },
        finish_reason: 'stop',
      })
      expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0))
      expect(usage?.prompt_tokens).toBeGreaterThan(10)
    },
  )

  it('chat, streamed: text, one finish reason, and usage when it is asked for', async () => {
    const chunks: OpenAI.ChatCompletionChunk[] = []
    const stream = await client.chat.completions.create({
      ...ask('Count.'),
      stream: true,
      stream_options: { include_usage: true },
    })
    for await (const chunk of stream) chunks.push(chunk)
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(COUNT)
    expect(chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(['stop'])
    const plain = await client.chat.completions.create(ask('Count.'))
    expect(chunks.at(-1)?.usage).toMatchObject({
      prompt_tokens: plain.usage?.prompt_tokens,
      completion_tokens: plain.usage?.completion_tokens,
    })
  })

  it('chat, stream helper: events and the final completion', async () => {
    const deltas: string[] = []
    const stream = client.chat.completions.stream(ask('hi'))
    stream.on('content', (delta) => deltas.push(delta))
    expect(await stream.finalContent()).toBe(HELLO)
    expect(deltas.join('')).toBe(HELLO)
    expect((await stream.finalChatCompletion()).choices[0]?.finish_reason).toBe('stop')
  })

  it('a conversation over several turns', async () => {
    const messages: Asked = [{ role: 'user', content: 'hi' }]
    const first = await client.chat.completions.create(ask(messages))
    messages.push(first.choices[0]?.message ?? { role: 'assistant', content: '' }, {
      role: 'user',
      content: 'Count.',
    })
    const second = await client.chat.completions.create(ask(messages))
    expect(second.choices[0]?.finish_reason).toBe('stop')
    expect(second.usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(10)
  })

  it('limits, stop strings and log-probabilities are those of the model', async () => {
    const cut = await client.chat.completions.create({ ...ask('Count.'), max_completion_tokens: 5 })
    expect([cut.choices[0]?.finish_reason, cut.usage?.completion_tokens]).toEqual(['length', 5])
    const stopped = await client.chat.completions.create({ ...ask('Count.'), stop: [' four'] })
    expect(stopped.choices[0]).toMatchObject({ message: { content: 'one two three' }, finish_reason: 'stop' })
    const { choices } = await client.chat.completions.create({
      ...ask('hi'),
      logprobs: true,
      top_logprobs: 2,
    })
    const tokens = choices[0]?.logprobs?.content ?? []
    expect(tokens.map(({ token }) => token).join('')).toBe(HELLO)
    for (const { logprob, top_logprobs } of tokens) {
      expect(top_logprobs).toHaveLength(2)
      expect(top_logprobs[0]?.logprob).toBeCloseTo(logprob, 5)
    }
  })

  it('completions: whole, streamed, for several prompts, and of nothing', async () => {
    const prompt = '<|im_start|>user\nhi<|im_end|>\n'
    const one = await client.completions.create({ model: 'tiny', prompt, temperature: 0, max_tokens: 6 })
    expect(one.choices[0]?.finish_reason).toBe('length')
    expect(one.usage?.completion_tokens).toBe(6)
    let streamed = ''
    for await (const { choices } of await client.completions.create({
      model: 'tiny',
      prompt,
      temperature: 0,
      max_tokens: 6,
      stream: true,
    }))
      streamed += choices[0]?.text ?? ''
    expect(streamed).toBe(one.choices[0]?.text)
    const two = await client.completions.create({
      model: 'tiny',
      prompt: [prompt, 'one two'],
      temperature: 0,
      max_tokens: 6,
    })
    expect(two.choices.map(({ index }) => index)).toEqual([0, 1])
    expect(two.choices[0]?.text).toBe(one.choices[0]?.text)
    const none = await client.completions.create({ model: 'tiny', prompt, max_tokens: 0 })
    expect([none.choices[0]?.text, none.usage?.completion_tokens]).toEqual(['', 0])
  })

  it('embeddings: float and base64 are the same bits, in order, of length one', async () => {
    const input = ['one', 'another text', 'one']
    const raw = async (encoding_format: 'float' | 'base64'): Promise<unknown[]> => {
      const response = await fetch(`${served.program.url}/v1/embeddings`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'vectors', input, encoding_format }),
      })
      const { data } = (await response.json()) as { data: { embedding: unknown }[] }
      return data.map(({ embedding }) => embedding)
    }
    const floats = (await raw('float')).map((vector) => Float32Array.from(vector as number[]))
    const bytes = (await raw('base64')).map((text) => Buffer.from(text as string, 'base64'))
    expect(bytes.map((vector) => vector.length)).toEqual([512, 512, 512])
    // A number that is written as text and read again must be the same 32 bits.
    expect(floats.map(({ buffer }) => Buffer.from(buffer).toString('hex'))).toEqual(
      bytes.map((vector) => vector.toString('hex')),
    )
    const { data, usage } = await client.embeddings.create({ model: 'vectors', input })
    expect(data.map(({ index }) => index)).toEqual([0, 1, 2])
    expect(data.map(({ embedding }) => embedding)).toEqual(floats.map((vector) => [...vector]))
    expect(data[0]?.embedding).toEqual(data[2]?.embedding)
    expect(data[0]?.embedding).not.toEqual(data[1]?.embedding)
    for (const { embedding } of data) expect(Math.hypot(...embedding)).toBeCloseTo(1, 5)
    expect(usage.total_tokens).toBe(usage.prompt_tokens)
    const { data: short } = await client.embeddings.create({ model: 'vectors', input: 'one', dimensions: 16 })
    expect(short[0]?.embedding).toHaveLength(16)
    expect(Math.hypot(...(short[0]?.embedding ?? []))).toBeCloseTo(1, 5)
  })

  it('errors are the SDK’s own: too long with both numbers, a wrong task, a broken stream', async () => {
    const long: unknown = await client.chat.completions
      .create(ask('word '.repeat(3000)))
      .catch((error: unknown) => error)
    expect(long).toBeInstanceOf(BadRequestError)
    expect(long).toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      message: expect.stringMatching(/1024.*\d{4}|\d{4}.*1024/) as string,
    })
    await expect(client.embeddings.create({ model: 'tiny', input: 'x' })).rejects.toThrow(BadRequestError)
    await expect(client.chat.completions.create({ ...ask('hi'), model: 'vectors' })).rejects.toThrow(
      BadRequestError,
    )
    const broken = client.chat.completions.stream({ ...ask('break'), model: 'talker' })
    await expect(broken.finalContent()).rejects.toThrow(APIError)
    expect(await client.chat.completions.create(ask('hi'))).toMatchObject({
      choices: [{ message: { content: HELLO } }],
    })
  })

  it('a stream that is broken off gives its slot back (BR-13)', async () => {
    const stream = await client.chat.completions.create({
      ...ask('Count.'),
      logit_bias: ENDLESS,
      stream: true,
    })
    let chunks = 0
    for await (const chunk of stream) if (chunk.choices.length > 0 && ++chunks === 3) break
    await served.api.until(({ runs }) => runs.active === 0, 5000)
    expect(chunks).toBe(3)
  })
})
