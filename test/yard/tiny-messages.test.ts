import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HAS_SERVER } from '../llama-server/fixtures.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { soonest } from '../soonest.ts'
import { FIXED, HAS_LLAMA, openHome, serve, type Api, type ServedYard } from './harness.ts'

/** Milliseconds that the longest wait of somebody else may take: a quarter of a second, and room for a busy machine. */
const NOT_STANDING = 1500

const MESSAGES = Array.from({ length: 20_000 }, (_, index) => ({
  role: index % 2 === 0 ? 'user' : 'assistant',
  content: 'a',
}))

/** Asks again and again until `over`. @returns the milliseconds of the longest wait */
async function longestWait(over: Promise<unknown>, ask: () => Promise<unknown>): Promise<number> {
  let longest = 0
  const ended = new AbortController()
  void over.finally(() => ended.abort())
  do {
    const begun = performance.now()
    await ask()
    longest = Math.max(longest, performance.now() - begun)
  } while (!ended.signal.aborted)
  return longest
}

describe('20,000 tiny messages in one request', () => {
  let served: ServedYard
  let api: Api
  const models = {
    ...(HAS_LLAMA && { embedded: { file: TINY_CHAT, context: 512, slots: 2 } }),
    ...(HAS_SERVER && { server: { file: TINY_CHAT, engine: 'llama-server', context: 512, slots: 2 } }),
  }
  beforeAll(async () => {
    const home = await openHome({ models })
    served = await serve(home)
    api = served.api
  })
  afterAll(async () => served.stop())

  it.each(Object.keys(models))(
    'are refused with numbers, and neither the worker (%s) nor the server stands for anybody meanwhile',
    async (model) => {
      const [hello] = FIXED
      const ask = async (): Promise<void> => {
        expect((await api.chat(hello?.messages ?? [], { model })).text).toBe(hello?.answer)
      }
      await ask()
      const waited = await soonest(async () => {
        const refused = api.chat(MESSAGES, { model })
        const [worker, server] = await Promise.all([
          longestWait(refused, ask),
          longestWait(refused, async () => (await fetch(`${api.url}/healthz`)).json()),
        ])
        const { status, body } = await refused
        expect([status, body]).toMatchObject([
          400,
          {
            error: {
              code: 'context_length_exceeded',
              message: expect.stringMatching(
                /maximum context length is 512 tokens, .* has at least \d{5} tokens/,
              ) as string,
            },
          },
        ])
        return Math.max(worker, server)
      }, NOT_STANDING)
      expect(waited).toBeLessThan(NOT_STANDING)
    },
    60_000,
  )
})
