import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createYard, type Yard } from '../../src/yard.ts'
import type { TestHome } from '../cli/program.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { FIXED, HAS_LLAMA, openHome, user } from './harness.ts'

interface Told {
  /** All tokens of the prompt. */
  prompt: number
  reused: number
}

/** Where each language tells it. Anthropic's input_tokens are what was evaluated, the others' are all. */
const LANGUAGES: { name: string; path: string; body: object; told: (answer: never) => Told }[] = [
  {
    name: 'OpenAI chat',
    path: '/v1/chat/completions',
    body: { max_tokens: 4 },
    told: ({ usage }: { usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } } }) => ({
      prompt: usage.prompt_tokens,
      reused: usage.prompt_tokens_details.cached_tokens,
    }),
  },
  {
    name: 'OpenAI responses',
    path: '/v1/responses',
    body: { max_output_tokens: 4 },
    told: ({ usage }: { usage: { input_tokens: number; input_tokens_details: { cached_tokens: number } } }) => ({
      prompt: usage.input_tokens,
      reused: usage.input_tokens_details.cached_tokens,
    }),
  },
  {
    name: 'Anthropic messages',
    path: '/v1/messages',
    body: { max_tokens: 4 },
    told: ({ usage }: { usage: { input_tokens: number; cache_read_input_tokens: number } }) => ({
      prompt: usage.input_tokens + usage.cache_read_input_tokens,
      reused: usage.cache_read_input_tokens,
    }),
  },
] // prettier-ignore

describe.runIf(HAS_LLAMA)('BR-52: what was reused is told truly in every language', () => {
  let home: TestHome
  let yard: Yard
  let url: string
  beforeAll(async () => {
    home = await openHome()
    yard = await createYard({
      home: home.path,
      models: { tiny: { file: TINY_CHAT, context: 1024, slots: 1 } },
    })
    url = (await yard.listen({ port: 0 })).url
  })
  afterAll(async () => {
    await yard.stop()
    await home.remove()
  })

  it.each(LANGUAGES)('$name', async ({ name, path, body, told }) => {
    const { messages } = FIXED[0] as (typeof FIXED)[number]
    // A beginning of its own, so that nothing of another language's test is reused.
    const first = [user(`${name}: ${'some words '.repeat(20)}`), ...messages.slice(1)]
    const ask = async (turns: object[]): Promise<Told & { header: number }> => {
      const answer = await fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'tiny', messages: turns, input: turns, ...body }),
      })
      expect(answer.status).toBe(200)
      const header = Number(answer.headers.get('modelyard-cached-tokens'))
      return { ...told((await answer.json()) as never), header }
    }
    const cold = await ask(first)
    expect(cold.reused).toBe(cold.header)
    const warm = await ask([...first, { role: 'assistant', content: 'x' }, user('And then?')])
    expect(warm.reused).toBe(warm.header)
    // Nearly all of the first prompt agrees; what is told is not more than there was.
    expect(warm.reused).toBeGreaterThan(cold.prompt / 2)
    expect(warm.reused).toBeLessThanOrEqual(cold.prompt + 4)
    expect(warm.prompt).toBeGreaterThan(cold.prompt)
  })
})
