import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { randomNumbers } from '../../src/pool/simulation/random.ts'
import type { Message } from '../../src/tasks/message.ts'
import type { Yard } from '../../src/yard.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { HAS_LLAMA, ownYards, user } from '../yard/harness.ts'

/** Things that happen; `npm run test:contexts` plays many more. */
const ROUNDS = Number(process.env['MODELYARD_CONTEXT_ROUNDS'] ?? 30)
const SEED = Number(process.env['MODELYARD_CONTEXT_SEED'] ?? 20_261_201)
/** Difference of log-probabilities below which two tokens are as good as each other. */
const TIE = 0.01

const SYSTEMS = ['the model and the server ', 'and the user and the '].map((text) => text.repeat(8))

interface Answer {
  text: string
  tokens: { token: string; gap: number }[]
}

async function ask(yard: Yard, messages: Message[], cache?: 'none'): Promise<Answer & { cached: number }> {
  const stream = yard.chat({
    model: 'a',
    messages,
    temperature: 0,
    maxTokens: 10,
    topLogprobs: 2,
    ...(cache === undefined ? {} : { cache }),
  })
  const tokens: Answer['tokens'] = []
  let [text, cached] = ['', 0]
  for await (const part of stream) {
    if (part.type === 'started') cached = part.cachedTokens
    if (part.type !== 'text') continue
    text += part.text
    for (const { text: token, top } of part.logprobs ?? []) {
      const [first, second] = top
      tokens.push({ token, gap: Math.abs((first?.logprob ?? 0) - (second?.logprob ?? -100)) })
    }
  }
  return { text, tokens, cached }
}

/** Where two answers part, whether both tokens were as good there. */
function isNearTie(a: Answer, b: Answer): boolean {
  const index = a.tokens.findIndex(({ token }, place) => token !== b.tokens[place]?.token)
  return index >= 0 && (a.tokens[index]?.gap ?? 1) < TIE && (b.tokens[index]?.gap ?? 1) < TIE
}

describe.runIf(HAS_LLAMA)('random conversations with real weights (R16)', () => {
  const test = ownYards()

  it(
    `P6: ${ROUNDS} turns, branches, aborts, unloads and restarts: each answer is that of a fresh context`,
    { timeout: 60_000 + ROUNDS * 2000 },
    async () => {
      const random = randomNumbers(SEED)
      const below = (count: number): number => Math.floor(random() * count)
      const { path: file } = makeTinyModel(join(test.home.path, 'a.gguf'))
      const open = async (): Promise<Yard> =>
        test.open({
          models: { a: { file, context: 768, slots: 2, isolation: 'none' } },
          contexts: { parking: 'always', budget: 3_000_000 },
        })
      let yard = await open()
      const conversations: Message[][] = []
      const counts = { answers: 0, reused: 0, ties: 0, aborts: 0, unloads: 0, restarts: 0, branches: 0 }

      const turn = async (messages: Message[]): Promise<void> => {
        const warm = await ask(yard, messages)
        const fresh = await ask(yard, messages, 'none')
        counts.answers++
        if (warm.cached > 0) counts.reused++
        const isTie = warm.text !== fresh.text && isNearTie(warm, fresh)
        if (isTie) counts.ties++
        expect([SEED, counts, isTie ? fresh.text : warm.text]).toEqual([SEED, counts, fresh.text])
        const longer: Message[] = [...messages, { role: 'assistant', content: warm.text }]
        conversations.push(longer)
        if (conversations.length > 6) conversations.splice(below(6), 1)
      }
      const another = (): Message => user(`${below(1000)} user and model`)
      const begin = (): Message[] => [{ role: 'system', content: SYSTEMS[below(2)] ?? '' }, another()]
      const abort = async (messages: Message[]): Promise<void> => {
        const controller = new AbortController()
        const stream = yard.chat({ model: 'a', messages, maxTokens: 40, signal: controller.signal })
        counts.aborts++
        let parts = below(6)
        try {
          if (parts === 0) controller.abort()
          for await (const part of stream) if (part.type === 'text' && --parts <= 0) controller.abort()
        } catch {
          // What an aborted run says is tested elsewhere.
        }
      }
      const goOn = (): Message[] => {
        const known = conversations[below(conversations.length)]
        return known === undefined || known.length > 9 ? begin() : [...known, another()]
      }
      for (let round = 0; round < ROUNDS; round++) {
        const what = below(20)
        if (what < 4) await turn(begin())
        else if (what < 12) await turn(goOn())
        else if (what < 15) {
          counts.branches++
          const known = conversations[below(conversations.length)] ?? begin()
          const turns = below(Math.max(1, Math.floor((known.length - 1) / 2)))
          await turn([...known.slice(0, 1 + 2 * turns), another()])
        } else if (what < 17) await abort(goOn())
        else if (what < 18) {
          counts.unloads++
          await yard.unloadModel('a')
        } else {
          counts.restarts++
          await yard.stop()
          yard = await open()
        }
      }
      console.log(JSON.stringify(counts))
      expect(counts.reused).toBeGreaterThan(counts.answers / 3)
    },
  )
})
