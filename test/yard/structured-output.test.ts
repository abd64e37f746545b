import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestHome } from '../cli/program.ts'
import { fetched, SMOLLM2, TINY_CHAT } from '../models/paths.ts'
import { HAS_LLAMA, openHome, serve, type ServedYard } from './harness.ts'

/** One hundred by `MODELYARD_FORMAT_TRIES=100`; a try takes about a second on a quiet machine. */
const TRIES = Number(process.env['MODELYARD_FORMAT_TRIES'] ?? 4)
/** Milliseconds for one try, on a machine that is busy. */
const TRY_LIMIT = 30_000

const SCHEMA = {
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 1, maxLength: 20 },
    size: { enum: ['small', 'large'] },
    people: { type: 'integer', minimum: 1000, maximum: 20_000_000 },
    tags: { type: 'array', items: { type: 'string', pattern: '^[a-z]{2,8}$' }, minItems: 1, maxItems: 2 },
  },
  required: ['city', 'size', 'people', 'tags'],
  additionalProperties: false,
}
const fits = new Ajv2020().compile(SCHEMA)

interface Dialect {
  path: string
  /** Fields that ask for an answer by the schema. */
  asked: (schema: object) => Record<string, unknown>
  textOf: (answer: never) => string
  errorOf: (answer: never) => string
}

const QUESTION = 'Describe the city of Rome as JSON.'
const MESSAGES = { messages: [{ role: 'user', content: QUESTION }] }

const CHAT: Pick<Dialect, 'path' | 'textOf' | 'errorOf'> = {
  path: '/v1/chat/completions',
  textOf: ({ choices }: { choices: { message: { content: string } }[] }) => choices[0]?.message.content ?? '',
  errorOf: ({ error }: { error: { message: string } }) => error.message,
}

const DIALECTS: Record<string, Dialect> = {
  'OpenAI chat, strict': {
    ...CHAT,
    asked: (schema) => ({
      ...MESSAGES,
      response_format: { type: 'json_schema', json_schema: { name: 'city', schema, strict: true } },
    }),
  },
  'OpenAI chat, not strict': {
    ...CHAT,
    asked: (schema) => ({
      ...MESSAGES,
      response_format: { type: 'json_schema', json_schema: { name: 'city', schema } },
    }),
  },
  'OpenAI responses': {
    ...CHAT,
    path: '/v1/responses',
    asked: (schema) => ({
      input: QUESTION,
      text: { format: { type: 'json_schema', name: 'city', schema, strict: true } },
    }),
    textOf: ({ output }: { output: { content: { text: string }[] }[] }) => output[0]?.content[0]?.text ?? '',
  },
  'Anthropic messages': {
    ...CHAT,
    path: '/v1/messages',
    asked: (schema) => ({
      ...MESSAGES,
      max_tokens: 400,
      output_config: { format: { type: 'json_schema', schema } },
    }),
    textOf: ({ content }: { content: { text: string }[] }) => content[0]?.text ?? '',
  },
  'Anthropic messages, as the beta had it': {
    ...CHAT,
    path: '/v1/messages',
    asked: (schema) => ({ ...MESSAGES, max_tokens: 400, output_format: { type: 'json_schema', schema } }),
    textOf: ({ content }: { content: { text: string }[] }) => content[0]?.text ?? '',
  },
  'Ollama chat': {
    path: '/api/chat',
    asked: (format) => ({ ...MESSAGES, stream: false, format }),
    textOf: ({ message }: { message: { content: string } }) => message.content,
    errorOf: ({ error }: { error: string }) => error,
  },
  'Ollama generate': {
    path: '/api/generate',
    asked: (format) => ({ prompt: QUESTION, stream: false, format }),
    textOf: ({ response }: { response: string }) => response,
    errorOf: ({ error }: { error: string }) => error,
  },
}

describe.runIf(HAS_LLAMA && fetched(SMOLLM2))(
  'structured output of a real model, by every dialect (E2, BR-08)',
  () => {
    let home: TestHome
    let served: ServedYard
    beforeAll(async () => {
      home = await openHome()
      const small = { file: SMOLLM2, context: 1024, slots: 2 }
      await home.configure({ models: { smollm: small, never: { file: TINY_CHAT, context: 256 } } })
      served = await serve(home)
    })
    afterAll(async () => {
      await served.stop()
      await home.remove()
    })

    const post = async (path: string, body: object): Promise<{ status: number; answer: never }> => {
      const response = await fetch(served.program.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return { status: response.status, answer: (await response.json()) as never }
    }

    it.each(Object.entries(DIALECTS))(
      `%s: ${TRIES} of ${TRIES} answers fit the schema`,
      async (_, { path, asked, textOf }) => {
        for (let count = 0; count < TRIES; count++) {
          const { status, answer } = await post(path, { model: 'smollm', ...asked(SCHEMA) })
          expect({ status, answer }).toMatchObject({ status: 200 })
          const text = textOf(answer)
          expect({ text, fits: fits(JSON.parse(text)) }).toEqual({ text, fits: true })
        }
      },
      TRIES * TRY_LIMIT,
    )

    it.each(Object.entries(DIALECTS))(
      '%s: what cannot be held is a 400 that says which keyword, and loads nothing',
      async (_, { path, asked, errorOf }) => {
        const schema = { type: 'object', properties: { a: { type: 'array', uniqueItems: true } } }
        const { status, answer } = await post(path, { model: 'never', ...asked(schema) })
        expect({ status, error: errorOf(answer) }).toEqual({
          status: 400,
          error: expect.stringContaining('#/properties/a/uniqueItems') as string,
        })
        const loaded = (await (await fetch(`${served.program.url}/api/ps`)).json()) as {
          models: { name: string }[]
        }
        expect(loaded.models.filter(({ name }) => name.startsWith('never'))).toEqual([])
      },
    )

    it('BR-08: json_object without a schema is an object, at temperature 2 as well', async () => {
      const { answer } = await post(CHAT.path, {
        model: 'smollm',
        ...MESSAGES,
        temperature: 2,
        seed: 3,
        max_tokens: 300,
        response_format: { type: 'json_object' },
      })
      const [choice] = (answer as { choices: { finish_reason: string; message: { content: string } }[] })
        .choices
      const text = choice?.message.content ?? ''
      expect(text).toMatch(/^\{/)
      // A model this hot may go on for ever; then it is cut, and says so.
      const parses = choice?.finish_reason === 'length' || typeof JSON.parse(text) === 'object'
      expect({ text, parses }).toEqual({ text, parses: true })
    })

    it('a grammar of the user holds, streamed and with log-probabilities as well', async () => {
      const grammar = 'root ::= ("Rome" | "Paris") " is " [a-z]{3,8} "."'
      const body = { model: 'smollm', ...MESSAGES, grammar, logprobs: true, top_logprobs: 2 }
      const { answer } = await post(CHAT.path, body)
      expect(CHAT.textOf(answer)).toMatch(/^(Rome|Paris) is [a-z]{3,8}\.$/)
      const bad = await post(CHAT.path, { ...body, grammar: 'root ::= root "a"' })
      expect(bad).toMatchObject({
        status: 400,
        answer: { error: { param: 'grammar', type: 'invalid_request_error' } },
      })
    })
  },
)
