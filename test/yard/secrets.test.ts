import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Message } from '../../src/tasks/message.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import type { TestHome } from '../cli/program.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { ask, chat, completion, load } from '../node-llama-cpp/fixtures.ts'
import { Api, HAS_LLAMA, openHome, sleep, until, user } from './harness.ts'

const CONTEXT = 2048
/** Noise of this model depends on the whole context: a foreign token in it changes the text. */
const LENGTH = 20

const SECRET = user('My secret word is XYZZY-4711. Keep it for me, please.')
const QUESTION = user('What is the secret word?')
const OTHER = user('Tell me about the sea and the wind.')
/** Longer than a block of the fingerprint, so that it is worth keeping. */
const SYSTEM: Message = { role: 'system', content: 'Answer in one short sentence. '.repeat(40) }

/** What a client sees of an answer. */
interface Seen {
  text: string
  promptTokens: number
  cachedTokens: number
}

/** The same request on a copy of the model that has seen nothing before. */
async function fresh(messages: Message[]): Promise<Seen> {
  const model = await load(TINY_CHAT, { context: CONTEXT })
  try {
    const { text, result } = await ask(model, chat(messages, { maxTokens: LENGTH }))
    return { text, promptTokens: result.usage.promptTokens, cachedTokens: 0 }
  } finally {
    await model.unload()
  }
}

/** A conversation that goes on in a yard. */
class Conversation {
  readonly messages: Message[] = []
  readonly #yard: Yard
  readonly #model: string
  /** Tokens of its last prompt and answer: more of them cannot be in any slot. */
  #own = 0
  /** Instances and slots it was on. */
  readonly places: string[] = []

  constructor(yard: Yard, model: string) {
    this.#yard = yard
    this.#model = model
  }

  /** Says the next thing; the answer must be that of a fresh context, and only its own tokens may have been in the slot. */
  async say(...messages: Message[]): Promise<Seen> {
    this.messages.push(...messages)
    const stream = this.#yard.chat({
      model: this.#model,
      messages: this.messages,
      temperature: 0,
      maxTokens: LENGTH,
    })
    const { text, message, result } = await stream.answer()
    const { promptTokens, cachedTokens, completionTokens } = result.usage
    const expected = await fresh(this.messages)
    assert.deepEqual({ text, promptTokens }, { text: expected.text, promptTokens: expected.promptTokens })
    assert.ok(cachedTokens <= this.#own, `${cachedTokens} of ${this.#own} tokens were in the slot`)
    this.#own = promptTokens + completionTokens
    this.messages.push(message)
    this.places.push(`${stream.info.instance} ${stream.info.slot}`)
    return { text, promptTokens, cachedTokens }
  }
}

describe.runIf(HAS_LLAMA)(
  'a conversation never sees another one’s text (P6, F1, F11), with real weights',
  () => {
    let home: TestHome
    let yard: Yard
    beforeAll(async () => {
      home = await openHome()
      const tiny = { file: TINY_CHAT, context: CONTEXT }
      yard = await createYard({
        home: home.path,
        // Slots are what this is about; the same with contexts on disk is below.
        contexts: { parking: false },
        models: {
          four: { ...tiny, slots: 4 },
          two: { ...tiny, slots: 2 },
          one: { ...tiny, slots: 1 },
          pair: { ...tiny, slots: 1, maxInstances: 2 },
        },
      })
    })
    afterAll(async () => {
      await yard.stop()
      await home.remove()
    })

    const conversation = (model: string): Conversation => new Conversation(yard, model)

    it('such a leak would be seen: the answer is another one after the secret', async () => {
      const alone = await fresh([QUESTION])
      const after = await fresh([SECRET, { role: 'assistant', content: 'ok' }, QUESTION])
      expect(after.text).not.toBe(alone.text)
    })

    it('in their own slots, in turns', async () => {
      const [theirs, mine] = [conversation('four'), conversation('four')]
      for (const words of [SECRET, OTHER, user('And again.')]) await theirs.say(words)
      const cached: number[] = []
      for (const words of [QUESTION, OTHER]) {
        await theirs.say(words)
        cached.push((await mine.say(words)).cachedTokens)
      }
      expect(cached).toEqual([0, expect.any(Number)])
      expect(cached[1]).toBeGreaterThan(10)
      expect(new Set(theirs.places).size).toBe(1)
      expect(new Set(mine.places).size).toBe(1)
      expect(mine.places[0]).not.toBe(theirs.places[0])
    })

    it('in a slot that was theirs and is taken over, and back', async () => {
      const [theirs, another, mine] = [conversation('two'), conversation('two'), conversation('two')]
      await theirs.say(SECRET)
      await another.say(OTHER)
      expect((await mine.say(QUESTION)).cachedTokens).toBe(0)
      expect(mine.places).toEqual(theirs.places)
      expect((await theirs.say(QUESTION)).cachedTokens).toBe(0)
      expect(theirs.places[1]).toBe(another.places[0])
      expect((await mine.say(OTHER)).cachedTokens).toBeGreaterThan(10)
      expect((await another.say(QUESTION)).cachedTokens).toBe(0)
    })

    it('in the only slot, overwritten at every turn', async () => {
      const [theirs, mine] = [conversation('one'), conversation('one')]
      for (const words of [SECRET, QUESTION, OTHER]) {
        expect((await theirs.say(words)).cachedTokens).toBe(0)
        expect((await mine.say(words === SECRET ? QUESTION : words)).cachedTokens).toBe(0)
      }
    })

    it('in the only slot, and on disk in between', async () => {
      const own = await openHome()
      const parking = await createYard({
        home: own.path,
        contexts: { parking: 'always' },
        models: { one: { file: TINY_CHAT, context: CONTEXT, slots: 1 } },
      })
      const [theirs, mine] = [new Conversation(parking, 'one'), new Conversation(parking, 'one')]
      const cached: number[] = []
      for (const words of [SECRET, QUESTION, OTHER]) {
        cached.push((await theirs.say(words)).cachedTokens)
        cached.push((await mine.say(words === SECRET ? QUESTION : words)).cachedTokens)
      }
      expect(cached.slice(2).every((tokens) => tokens > 10)).toBe(true)
      await parking.stop()
    })

    it('when both begin with the same system text: only that is kept', async () => {
      await conversation('one').say(SYSTEM, SECRET)
      const messages = [SYSTEM, QUESTION]
      const { text, result } = await yard
        .chat({ model: 'one', messages, temperature: 0, maxTokens: LENGTH })
        .answer()
      expect(text).toBe((await fresh(messages)).text)
      const task = chat([SYSTEM, user('')])
      const common = await yard.countTokens('one', task)
      expect(result.usage.cachedTokens).toBeGreaterThan(100)
      expect(result.usage.cachedTokens).toBeLessThan(common)
    })

    it('after the model was unloaded and loaded again', async () => {
      await yard.unloadModel('two')
      const [theirs, mine] = [conversation('two'), conversation('two')]
      await theirs.say(SECRET)
      await mine.say(OTHER)
      await yard.unloadModel('two')
      expect((await mine.say(QUESTION)).cachedTokens).toBe(0)
      expect((await theirs.say(QUESTION)).cachedTokens).toBe(0)
    })

    it('after a run that was left in the middle of its answer, or of its prompt', async () => {
      for (const words of [SECRET.content, `${SECRET.content} `.repeat(30)]) {
        const stream = yard.chat({ model: 'one', messages: [user(words)], temperature: 0, maxTokens: 400 })
        let pieces = 0
        for await (const part of stream) if (part.type === 'text' && ++pieces === 3) break
        expect((await conversation('one').say(QUESTION)).cachedTokens).toBe(0)
        const signal = AbortSignal.timeout(15)
        await yard.chat({ model: 'one', messages: [user(words)], temperature: 0, signal }).answer()
        expect((await conversation('one').say(QUESTION)).cachedTokens).toBe(0)
      }
    })

    it('after a run that was refused', async () => {
      const long = [SECRET, user('word '.repeat(4000))]
      const refused = yard.chat({ model: 'one', messages: long }).text()
      await expect(refused).rejects.toMatchObject({ code: 'context_length_exceeded' })
      expect((await conversation('one').say(OTHER)).cachedTokens).toBe(0)
    })

    it('when text is completed in a slot where a chat was', async () => {
      await conversation('one').say(SECRET)
      const { text, result } = await yard
        .complete({ model: 'one', prompt: 'The secret word is', temperature: 0, maxTokens: LENGTH })
        .answer()
      const model = await load(TINY_CHAT, { context: CONTEXT })
      const alone = await ask(model, completion('The secret word is', { maxTokens: LENGTH }))
      await model.unload()
      expect([text, result.usage.cachedTokens]).toEqual([alone.text, 0])
      expect((await conversation('one').say(QUESTION)).cachedTokens).toBe(0)
    })

    it('on a new instance, beside theirs', async () => {
      const theirs = conversation('pair')
      await theirs.say(SECRET)
      const mine = conversation('pair')
      expect((await mine.say(QUESTION)).cachedTokens).toBe(0)
      expect((await theirs.say(OTHER)).cachedTokens).toBeGreaterThan(10)
      expect((await mine.say(OTHER)).cachedTokens).toBeGreaterThan(10)
      expect([...new Set([...theirs.places, ...mine.places])]).toHaveLength(2)
    })
  },
)

/** The scripted engine tells what else a slot held when a part of it was to be kept. */
describe('a conversation never sees another one’s text, told by the slot itself over HTTP', () => {
  const REVEAL = [{ role: 'user', content: 'reveal what you hold' }]
  let home: TestHome
  let yard: Yard
  let api: Api
  beforeAll(async () => {
    home = await openHome()
    const script = [
      { match: '^reveal', echo: 'slot' as const },
      { match: 'at length', text: 'tick ', repeat: 1000, delay: 5 },
      { match: 'fail', error: { at: 1, message: 'it broke' }, text: ['half'] },
      { match: 'crash', exitAt: 1, text: ['half'] },
      { text: 'noted' },
    ]
    const model = { engine: 'scripted', isolation: 'worker', script } as const
    yard = await createYard({
      home: home.path,
      models: { one: { ...model, slots: 1 }, two: { ...model, slots: 2 } },
    })
    api = new Api((await yard.listen({ port: 0 })).url)
  })
  afterAll(async () => {
    await yard.stop()
    await home.remove()
  })

  async function reveals(
    model: string,
    asked: { role: string; content: string }[] = REVEAL,
  ): Promise<[string, number]> {
    const { text = 'no answer', cachedTokens } = await api.chat(asked, { model })
    return [text, cachedTokens]
  }

  it('such a leak would be told: within one conversation the slot does hold more', async () => {
    const system = { role: 'system', content: 'be brief' }
    await api.chat([system, { role: 'user', content: 'XYZZY' }], { model: 'one' })
    const [text, cached] = await reveals('one', [system, ...REVEAL])
    expect(text).toBe('XYZZY noted')
    expect(cached).toBeGreaterThan(0)
  })

  it.each<[path: string, model: string, before: (api: Api, model: string) => Promise<unknown>]>([
    ['in an empty slot', 'two', async (to, model) => to.chat('secret XYZZY', { model })],
    ['in the only slot', 'one', async (to, model) => to.chat('secret XYZZY', { model })],
    [
      'in a slot that is taken over',
      'two',
      async (to, model) => {
        for (const words of ['secret XYZZY', 'secret PLUGH', 'secret PLOVER']) await to.chat(words, { model })
      },
    ],
    [
      'after an unload',
      'one',
      async (to, model) => {
        await to.chat('secret XYZZY', { model })
        await to.post('/api/yard/unload', JSON.stringify({ model }))
      },
    ],
    ['after a failed run', 'one', async (to, model) => to.chat('fail with XYZZY', { model })],
    [
      'after a run that killed the worker',
      'one',
      async (to, model) => to.chat('crash with XYZZY', { model }),
    ],
    [
      'after a run whose client left',
      'one',
      async (to, model) => {
        const controller = new AbortController()
        const stream = await to.stream('at length about XYZZY', { model }, controller.signal)
        await stream.readText(10)
        controller.abort()
        await sleep(20)
      },
    ],
  ])('%s', async (_, model, before) => {
    await before(api, model)
    expect(await reveals(model)).toEqual(['', 0])
    await until(() => yard.state().runs.active === 0)
  })

  it('over a hundred turns of five conversations in two slots nobody is told anything of the others', async () => {
    const histories = ['ann', 'bob', 'cy', 'dee', 'eve'].map((name) => ({
      name,
      messages: [{ role: 'user', content: `I am ${name} and my secret is ${name.toUpperCase()}` }],
    }))
    for (let turn = 0; turn < 100; turn++) {
      const history = histories[(turn * 7 + Math.floor(turn / 3)) % histories.length]
      if (history === undefined) throw new Error('there are histories')
      const asked = turn % 4 === 3 ? [...history.messages.slice(0, -1), ...REVEAL] : history.messages
      const { text = '' } = await api.chat(asked, { model: 'two' })
      const others = histories
        .filter(({ name }) => name !== history.name)
        .map(({ name }) => name.toUpperCase())
      for (const secret of others) expect(text).not.toContain(secret)
      if (turn % 4 === 3) continue
      history.messages.push({ role: 'assistant', content: text }, { role: 'user', content: `turn ${turn}` })
    }
  })
})
