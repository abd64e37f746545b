import { Ollama } from 'ollama'
import OpenAI from 'openai'
import { zodFunction, zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import OpenAI4 from 'openai4'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createYard, type Yard } from '../../src/yard.ts'
import type { TestHome } from '../cli/program.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { fetched, SMOLLM2, TINY_CHAT } from '../models/paths.ts'
import { HAS_LLAMA, openHome } from '../yard/harness.ts'

const Trip = z.object({
  city: z.string().max(20),
  days: z.number().int().min(1).max(30),
  season: z.enum(['spring', 'summer', 'autumn', 'winter']),
  stops: z.array(z.string().max(12)).max(2),
})
const TEXT = 'Plan a trip to Rome.'
const MESSAGES = [{ role: 'user' as const, content: TEXT }]

/** What the SDKs parse themselves, of a model that knows nothing of schemas: the grammar is all that holds it. */
describe.runIf(HAS_LLAMA && fetched(SMOLLM2))('parse helpers of the official SDK with SmolLM2 (E2)', () => {
  let home: TestHome
  let yard: Yard
  let client: OpenAI
  let old: OpenAI4
  beforeAll(async () => {
    home = await openHome()
    yard = await createYard({ home: home.path, models: { smol: { file: SMOLLM2, context: 1024 } } })
    const options = { baseURL: `${(await yard.listen({ port: 0 })).url}/v1`, apiKey: 'none', maxRetries: 0 }
    client = new OpenAI(options)
    old = new OpenAI4(options)
  })
  afterAll(async () => {
    await yard.stop()
    await home.remove()
  })
  const asked = { model: 'smol', messages: MESSAGES, temperature: 1, seed: 7 }

  it('chat.completions.parse gives what the zod schema says', async () => {
    const { choices } = await client.chat.completions.parse({
      ...asked,
      response_format: zodResponseFormat(Trip, 'trip'),
    })
    expect(Trip.safeParse(choices[0]?.message.parsed).error).toBeUndefined()
  })

  it('a stream of chat completions is parsed at its end', async () => {
    const stream = client.chat.completions.stream({
      ...asked,
      response_format: zodResponseFormat(Trip, 'trip'),
    })
    const { choices } = await stream.finalChatCompletion()
    expect(Trip.safeParse(choices[0]?.message.parsed).error).toBeUndefined()
  })

  it('a forced tool of zod has its arguments parsed', async () => {
    const { choices } = await client.chat.completions.parse({
      ...asked,
      tools: [zodFunction({ name: 'plan', parameters: Trip })],
      tool_choice: { type: 'function', function: { name: 'plan' } },
    })
    const call = choices[0]?.message.tool_calls?.[0]
    expect(Trip.safeParse(call?.function.parsed_arguments).error).toBeUndefined()
  })

  it('responses.parse gives what the zod schema says', async () => {
    const { output_parsed } = await client.responses.parse({
      model: 'smol',
      input: TEXT,
      temperature: 1,
      text: { format: zodTextFormat(Trip, 'trip') },
    })
    expect(Trip.safeParse(output_parsed).error).toBeUndefined()
  })

  it('the old SDK parses under beta', async () => {
    const schema = zodResponseFormat(Trip, 'trip')
    const { choices } = await old.beta.chat.completions.parse({ ...asked, response_format: schema as never })
    expect(Trip.safeParse(choices[0]?.message.parsed).error).toBeUndefined()
  })
})

describe.runIf(HAS_LLAMA)('infill: the text between two texts (E1)', () => {
  let home: TestHome
  let yard: Yard
  let url: string
  beforeAll(async () => {
    home = await openHome()
    const file = `${home.path}/fills.gguf`
    makeTinyModel(file, { chains: [{ after: '<|fim_middle|>', pieces: [' return', ' 42', ';'] }] })
    yard = await createYard({
      home: home.path,
      models: { filler: { file, context: 256 }, chat: { file: TINY_CHAT, context: 256 } },
    })
    ;({ url } = await yard.listen({ port: 0 }))
  })
  afterAll(async () => {
    await yard.stop()
    await home.remove()
  })
  const body = { model: 'filler', prompt: 'f() {', suffix: '}', temperature: 0, max_tokens: 10 }

  it('`suffix` of completions, whole and streamed', async () => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
    const answer = await client.completions.create(body)
    expect([answer.choices[0]?.text, answer.choices[0]?.finish_reason]).toEqual([' return 42;', 'stop'])
    let text = ''
    for await (const { choices } of await client.completions.create({ ...body, stream: true }))
      text += choices[0]?.text ?? ''
    expect(text).toBe(' return 42;')
    // Nothing between is a completion still, and an empty text before or after the gap is one.
    expect((await client.completions.create({ ...body, prompt: '', suffix: '' })).choices[0]?.text).toBe(
      ' return 42;',
    )
  })

  it('`suffix` of generate', async () => {
    const ollama = new Ollama({ host: url })
    const { model, prompt, suffix } = body
    const answer = await ollama.generate({
      model,
      prompt,
      suffix,
      options: { temperature: 0, num_predict: 10 },
    })
    expect(answer.response).toBe(' return 42;')
  })

  it('a model without the tokens for it is a clear 400; so are token ids with a suffix', async () => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
    for (const wrong of [{ model: 'chat' }, { prompt: [1, 2] }]) {
      await expect(client.completions.create({ ...body, ...wrong })).rejects.toMatchObject({
        status: 400,
        param: 'suffix',
      })
    }
  })
})
