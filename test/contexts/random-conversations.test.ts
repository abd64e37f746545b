import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { randomNumbers } from '../../src/pool/simulation/random.ts'
import type { Message } from '../../src/tasks/message.ts'
import type { Yard } from '../../src/yard.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { ownYards, user, type OwnYards } from '../yard/harness.ts'
import { PARKING_ENGINES } from './turns.ts'

/** Things that happen in each combination; `npm run test:contexts` plays many more. */
const ROUNDS = Number(process.env['MODELYARD_CONTEXT_ROUNDS'] ?? 24)
const SEED = Number(process.env['MODELYARD_CONTEXT_SEED'] ?? 20_261_201)
/** Difference of log-probabilities below which two tokens are as good as each other. */
const TIE = 0.01

const SYSTEMS = ['the model and the server ', 'and the user and the '].map((text) => text.repeat(8))

/** Noise that depends on all that came before it, and a model that was trained. */
const MODELS = {
  tiny: (path: string) => void makeTinyModel(path),
  'tiny-chat': (path: string) => copyFileSync(TINY_CHAT, path),
}
type ModelName = keyof typeof MODELS

/** By default each of engines, models and numbers of slots at least once; on request all of them together. */
const ALL = PARKING_ENGINES.flatMap((engine) =>
  (Object.keys(MODELS) as ModelName[]).flatMap((model) =>
    [1, 2, 4].map((slots) => ({ engine, model, slots })),
  ),
)
const SHORT = [
  { engine: 'node-llama-cpp', model: 'tiny', slots: 2 },
  { engine: 'node-llama-cpp', model: 'tiny-chat', slots: 4 },
  { engine: 'llama-server', model: 'tiny', slots: 4 },
  { engine: 'llama-server', model: 'tiny-chat', slots: 1 },
].filter(({ engine }) => PARKING_ENGINES.some((name) => name === engine)) as typeof ALL
const COMBINATIONS = process.env['MODELYARD_CONTEXT_ROUNDS'] === undefined ? SHORT : ALL

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

/** Where two answers part, whether two tokens were as good there. One of both has to tell: llama-server says nothing of a token that is half a character. */
function isNearTie(a: Answer, b: Answer): boolean {
  const index = a.tokens.findIndex(({ token }, place) => token !== b.tokens[place]?.token)
  if (index < 0) return false
  return Math.min(a.tokens[index]?.gap ?? 1, b.tokens[index]?.gap ?? 1) < TIE
}

/** A yard whose model is asked at random, unloaded and restarted; each answer is compared with that of a fresh context. */
class Conversations {
  readonly counts = { answers: 0, reused: 0, ties: 0, aborts: 0, unloads: 0, restarts: 0, branches: 0 }
  readonly #seed: number
  readonly #random: () => number
  readonly #open: () => Promise<Yard>
  readonly #conversations: Message[][] = []
  #yard: Promise<Yard> | undefined

  constructor(seed: number, open: () => Promise<Yard>) {
    this.#seed = seed
    this.#random = randomNumbers(seed)
    this.#open = open
  }

  below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  /** One thing that happens. */
  async step(): Promise<void> {
    const what = this.below(20)
    if (what < 4) await this.#turn(this.#begun())
    else if (what < 11) await this.#turn(this.#goneOn())
    else if (what < 13) await Promise.all([this.#turn(this.#goneOn()), this.#turn(this.#begun())])
    else if (what < 15) await this.#turn(this.#branched())
    else if (what < 17) await this.#abort(this.#goneOn())
    else if (what < 18) await this.#unload()
    else await this.#restart()
  }

  async #yardNow(): Promise<Yard> {
    this.#yard ??= this.#open()
    return await this.#yard
  }

  async #turn(messages: Message[]): Promise<void> {
    const { counts } = this
    const yard = await this.#yardNow()
    const warm = await ask(yard, messages)
    const fresh = await ask(yard, messages, 'none')
    counts.answers++
    if (warm.cached > 0) counts.reused++
    const isTie = warm.text !== fresh.text && isNearTie(warm, fresh)
    if (isTie) counts.ties++
    if (warm.text !== fresh.text && !isTie) throw this.#otherAnswer(warm.text, fresh.text)
    this.#conversations.push([...messages, { role: 'assistant', content: warm.text }])
    if (this.#conversations.length > 6) this.#conversations.splice(this.below(6), 1)
  }

  #otherAnswer(warm: string, fresh: string): Error {
    const where = `seed ${this.#seed}, after ${JSON.stringify(this.counts)}`
    return new Error(`"${warm}" is not the answer of a fresh context, "${fresh}": ${where}`)
  }

  #another(): Message {
    return user(`${this.below(1000)} user and model`)
  }

  #begun(): Message[] {
    return [{ role: 'system', content: SYSTEMS[this.below(2)] ?? '' }, this.#another()]
  }

  #goneOn(): Message[] {
    const known = this.#conversations[this.below(this.#conversations.length)]
    return known === undefined || known.length > 9 ? this.#begun() : [...known, this.#another()]
  }

  #branched(): Message[] {
    this.counts.branches++
    const known = this.#conversations[this.below(this.#conversations.length)] ?? this.#begun()
    const turns = this.below(Math.max(1, Math.floor((known.length - 1) / 2)))
    return [...known.slice(0, 1 + 2 * turns), this.#another()]
  }

  async #abort(messages: Message[]): Promise<void> {
    this.counts.aborts++
    const controller = new AbortController()
    const yard = await this.#yardNow()
    const stream = yard.chat({ model: 'a', messages, maxTokens: 40, signal: controller.signal })
    let parts = this.below(6)
    try {
      if (parts === 0) controller.abort()
      for await (const part of stream) if (part.type === 'text' && --parts <= 0) controller.abort()
    } catch {
      // What an aborted run says is tested elsewhere.
    }
  }

  async #unload(): Promise<void> {
    this.counts.unloads++
    await (await this.#yardNow()).unloadModel('a')
  }

  async #restart(): Promise<void> {
    this.counts.restarts++
    const yard = await this.#yard
    this.#yard = undefined
    await yard?.stop()
  }
}

function yardWith(test: OwnYards, { engine, model, slots }: (typeof ALL)[number]): () => Promise<Yard> {
  const file = join(test.home.path, 'a.gguf')
  MODELS[model](file)
  // In this process where that can be: it is quicker to load.
  const isolation = engine === 'node-llama-cpp' ? ('none' as const) : ('worker' as const)
  return async () =>
    await test.open({
      models: { a: { engine, file, context: 768, slots, isolation } },
      contexts: { parking: 'always', budget: 3_000_000 },
    })
}

describe('random conversations with real weights (R16)', () => {
  const test = ownYards()

  it.each(COMBINATIONS)(
    `P6: ${ROUNDS} turns, branches, aborts, unloads and restarts on $slots slots of $model in $engine: each answer is that of a fresh context`,
    { timeout: 60_000 + ROUNDS * 3000 },
    async (combination) => {
      const conversations = new Conversations(
        SEED + COMBINATIONS.indexOf(combination),
        yardWith(test, combination),
      )
      for (let round = 0; round < ROUNDS; round++) await conversations.step()
      const { counts } = conversations
      console.log(JSON.stringify({ ...combination, ...counts }))
      expect(counts.reused).toBeGreaterThan(counts.answers / 3)
    },
  )
})
