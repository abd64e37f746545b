import Anthropic from '@anthropic-ai/sdk'
import { Ollama } from 'ollama'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createYard, type Listening, type Yard } from '../../src/yard.ts'
import type { TestHome } from '../cli/program.ts'
import { CHATML_TEMPLATE, makeTinyModel } from '../models/make-tiny-gguf.ts'
import { fetched, SMOLLM2, TINY_CHAT } from '../models/paths.ts'
import { HAS_LLAMA, openHome } from '../yard/harness.ts'

const DESCRIPTION = 'Get the weather of a city'
const PARAMETERS = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }

const REPORT = {
  type: 'object' as const,
  properties: {
    title: { type: 'string', maxLength: 12 },
    level: { type: 'string', enum: ['low', 'high'] },
    count: { type: 'integer', minimum: 0, maximum: 99 },
  },
  required: ['title', 'level', 'count'],
  additionalProperties: false,
}

/** Arguments of each call of an answer, and what else there was. */
interface Told {
  names: string[]
  given: unknown[]
  text: string
  reason: string | null | undefined
}

interface Question {
  model: string
  text: string
  name: string
  parameters: typeof PARAMETERS | typeof REPORT
  forced?: 'required' | 'named'
  temperature?: number
}

/** One official SDK. */
interface Dialect {
  title: string
  ask: (question: Question) => Promise<Told>
  stream: (question: Question) => Promise<Told>
  /** How the API says that it ended with calls. */
  reason: string
}

let client: OpenAI
let anthropic: Anthropic
let ollama: Ollama

function openaiBody({ model, text, name, parameters, forced, temperature = 0 }: Question) {
  const choice = { required: 'required' as const, named: { type: 'function' as const, function: { name } } }
  return {
    model,
    temperature,
    messages: [{ role: 'user' as const, content: text }],
    tools: [{ type: 'function' as const, function: { name, description: DESCRIPTION, parameters } }],
    ...(forced !== undefined && { tool_choice: choice[forced], parallel_tool_calls: false }),
  }
}

function openaiTold({ message, finish_reason: reason }: OpenAI.ChatCompletion.Choice): Told {
  const calls = (message.tool_calls ?? []).filter((call) => call.type === 'function')
  return {
    names: calls.map((call) => call.function.name),
    given: calls.map((call) => JSON.parse(call.function.arguments) as unknown),
    text: message.content ?? '',
    reason,
  }
}

const OPENAI: Dialect = {
  title: 'OpenAI',
  reason: 'tool_calls',
  ask: async (question) => {
    const { choices } = await client.chat.completions.create(openaiBody(question))
    return openaiTold(choices[0] as OpenAI.ChatCompletion.Choice)
  },
  stream: async (question) => {
    const answer = await client.chat.completions.stream(openaiBody(question)).finalChatCompletion()
    return openaiTold(answer.choices[0] as OpenAI.ChatCompletion.Choice)
  },
}

function responsesBody({ model, text, name, parameters, forced, temperature = 0 }: Question) {
  const choice = { required: 'required' as const, named: { type: 'function' as const, name } }
  return {
    model,
    temperature,
    input: text,
    tools: [{ type: 'function' as const, name, description: DESCRIPTION, parameters, strict: false }],
    ...(forced !== undefined && { tool_choice: choice[forced], parallel_tool_calls: false }),
  }
}

function responsesTold({ output, output_text: text, status }: OpenAI.Responses.Response): Told {
  const calls = output.filter((item) => item.type === 'function_call')
  return {
    names: calls.map(({ name }) => name),
    given: calls.map((call) => JSON.parse(call.arguments) as unknown),
    text,
    reason: status,
  }
}

const RESPONSES: Dialect = {
  title: 'OpenAI responses',
  reason: 'completed',
  ask: async (question) => responsesTold(await client.responses.create(responsesBody(question))),
  stream: async (question) =>
    responsesTold(await client.responses.stream(responsesBody(question)).finalResponse()),
}

function anthropicBody({ model, text, name, parameters, forced, temperature = 0 }: Question) {
  const choice = { required: { type: 'any' as const }, named: { type: 'tool' as const, name } }
  return {
    model,
    max_tokens: 500,
    temperature: Math.min(1, temperature),
    messages: [{ role: 'user' as const, content: text }],
    tools: [{ name, description: DESCRIPTION, input_schema: parameters }],
    ...(forced !== undefined && { tool_choice: { ...choice[forced], disable_parallel_tool_use: true } }),
  }
}

function anthropicTold({ content, stop_reason: reason }: Anthropic.Message): Told {
  const calls = content.filter((block) => block.type === 'tool_use')
  return {
    names: calls.map(({ name }) => name),
    given: calls.map(({ input }) => input),
    text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    reason,
  }
}

const ANTHROPIC: Dialect = {
  title: 'Anthropic',
  reason: 'tool_use',
  ask: async (question) => anthropicTold(await anthropic.messages.create(anthropicBody(question))),
  stream: async (question) =>
    anthropicTold(await anthropic.messages.stream(anthropicBody(question)).finalMessage()),
}

function ollamaBody({ model, text, name, parameters, forced, temperature = 0 }: Question) {
  const choice = { required: 'required', named: { type: 'function', function: { name } } }
  return {
    model,
    // Ollama's own API has no choice: the fields are an extension, which its client sends as they are.
    ...(forced !== undefined && { tool_choice: choice[forced], parallel_tool_calls: false }),
    options: { temperature },
    messages: [{ role: 'user', content: text }],
    tools: [{ type: 'function', function: { name, description: DESCRIPTION, parameters } }],
  }
}

const OLLAMA: Dialect = {
  title: 'Ollama',
  reason: 'stop',
  ask: async (question) => {
    const { message, done_reason: reason } = await ollama.chat({ ...ollamaBody(question), stream: false })
    const calls = message.tool_calls ?? []
    return {
      names: calls.map((call) => call.function.name),
      given: calls.map((call) => call.function.arguments),
      text: message.content,
      reason,
    }
  },
  stream: async (question) => {
    const told: Told = { names: [], given: [], text: '', reason: undefined }
    for await (const { message, done_reason: reason } of await ollama.chat({
      ...ollamaBody(question),
      stream: true,
    })) {
      told.text += message.content
      told.names.push(...(message.tool_calls ?? []).map((call) => call.function.name))
      told.given.push(...(message.tool_calls ?? []).map((call) => call.function.arguments))
      told.reason = reason
    }
    return told
  },
}

function isReport(given: unknown): boolean {
  const { title, level, count, ...others } = given as Record<string, unknown>
  const isCount = Number.isInteger(count) && Number(count) >= 0 && Number(count) <= 99
  const isTitle = typeof title === 'string' && title.length <= 12
  return isTitle && (level === 'low' || level === 'high') && isCount && Object.keys(others).length === 0
}

describe.runIf(HAS_LLAMA)('tools with real weights, through the official SDKs', () => {
  let home: TestHome
  let yard: Yard
  let server: Listening
  beforeAll(async () => {
    home = await openHome()
    const smol = fetched(SMOLLM2) ? { smol: { file: SMOLLM2, context: 2048 } } : {}
    yard = await createYard({
      home: home.path,
      models: { tiny: { file: TINY_CHAT, context: 1024 }, ...smol },
    })
    server = await yard.listen({ port: 0 })
    client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 })
    anthropic = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 })
    ollama = new Ollama({ host: server.url })
  })
  afterAll(async () => {
    await yard.stop()
    await home.remove()
  })

  const weather = (text: string): Question => ({
    model: 'tiny',
    text,
    name: 'get_weather',
    parameters: PARAMETERS,
  })

  describe.each([OPENAI, RESPONSES, ANTHROPIC, OLLAMA])('$title', ({ ask, stream, reason }) => {
    it.each([
      ['whole', ask],
      ['streamed', stream],
    ])('E2: one call, two calls, no call: %s', async (_, how) => {
      expect(await how(weather('What is the weather in Rome?'))).toEqual({
        names: ['get_weather'],
        given: [{ city: 'Rome' }],
        text: '',
        reason,
      })
      expect((await how(weather('Weather in Rome and Oslo?'))).given).toEqual([
        { city: 'Rome' },
        { city: 'Oslo' },
      ])
      expect(await how(weather('hi'))).toMatchObject({ names: [], text: 'Hello, how are you today?' })
    })

    const tries = Number(process.env['MODELYARD_FORCED_TRIES'] ?? 4)
    it.runIf(fetched(SMOLLM2))(
      `E2: SmolLM2 gives a valid call each time it is forced to (${tries} tries)`,
      { timeout: 60_000 + 60_000 * tries },
      async () => {
        for (let index = 0; index < tries; index++) {
          const forced = index % 2 === 0 ? 'named' : 'required'
          const how = index % 4 < 2 ? ask : stream
          const told = await how({
            model: 'smol',
            text: `Report number ${index}.`,
            name: 'report',
            parameters: REPORT,
            forced,
            temperature: 1,
          })
          expect(told).toMatchObject({ names: ['report'], text: '' })
          expect(told.given.every(isReport)).toBe(true)
        }
      },
    )
  })
})

describe.runIf(HAS_LLAMA)('reasoning of a real model, through the official SDKs', () => {
  let home: TestHome
  let yard: Yard
  let url: string
  beforeAll(async () => {
    home = await openHome()
    const file = `${home.path}/thinks.gguf`
    const pieces = ['<think>', ' Let', ' me', ' see', '</think>', ' Yes', '.']
    // Its template speaks of the marks, so that it is known to think.
    const chatTemplate = `${CHATML_TEMPLATE}{# <think> </think> #}`
    makeTinyModel(file, { chains: [{ after: '\n', pieces }], chatTemplate })
    yard = await createYard({
      home: home.path,
      models: { thinker: { file, context: 512 }, tiny: { file: TINY_CHAT } },
    })
    url = (await yard.listen({ port: 0 })).url
  })
  afterAll(async () => {
    await yard.stop()
    await home.remove()
  })
  const messages = [{ role: 'user' as const, content: 'Is it?' }]

  it('BR-38: has its own field in chat completions, and its tokens are counted', async () => {
    const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
    const { choices, usage } = await openai.chat.completions.create({
      model: 'thinker',
      messages,
      temperature: 0,
    })
    expect(choices[0]?.message).toMatchObject({ content: 'Yes.', reasoning_content: 'Let me see' })
    expect(usage?.completion_tokens_details?.reasoning_tokens).toBe(5)
    const stream = await openai.chat.completions.create({
      model: 'thinker',
      messages,
      temperature: 0,
      stream: true,
    })
    let text = ''
    let thought = ''
    for await (const {
      choices: [choice],
    } of stream) {
      const delta = (choice?.delta ?? {}) as { content?: string; reasoning_content?: string }
      text += delta.content ?? ''
      thought += delta.reasoning_content ?? ''
    }
    expect([text, thought]).toEqual(['Yes.', 'Let me see'])
  })

  it('BR-38: is a thinking block in messages', async () => {
    const claude = new Anthropic({ baseURL: url, apiKey: 'none', maxRetries: 0 })
    const asked = { model: 'thinker', max_tokens: 100, messages, temperature: 0 }
    const { content } = await claude.messages.create(asked)
    expect(content).toMatchObject([
      { type: 'thinking', thinking: 'Let me see' },
      { type: 'text', text: 'Yes.' },
    ])
  })

  it('BR-38: is `thinking` in Ollama, not there with think false, and refused of a model that cannot', async () => {
    const local = new Ollama({ host: url })
    const asked = { model: 'thinker', messages, options: { temperature: 0 } }
    expect((await local.chat({ ...asked, think: true })).message).toMatchObject({
      content: 'Yes.',
      thinking: 'Let me see',
    })
    const quiet = await local.chat({ ...asked, think: false })
    expect([quiet.message.content, quiet.message.thinking]).toEqual(['Yes.', undefined])
    await expect(local.chat({ ...asked, model: 'tiny', think: true })).rejects.toMatchObject({
      status_code: 400,
    })
  })
})
