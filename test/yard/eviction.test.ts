import assert from 'node:assert/strict'
import { beforeEach, describe, expect, it } from 'vitest'
import type { ModelInput } from '../../src/config/configuration-input.ts'
import type { YardEvent } from '../../src/events/event-map.ts'
import { PROGRAM_BYTES } from '../../src/engines/llama-cpp/footprint.ts'
import type { LoadForecast } from '../../src/pool/forecast.ts'
import type { YardState } from '../../src/yard-state.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import {
  type Api,
  copyOfTinyChat,
  FIXED,
  HAS_LLAMA,
  openHome,
  ownYards,
  serve,
  sleep,
  until,
  user,
} from './harness.ts'

/** `a` is used last, and so often that a load of it which a busy machine made quicker by chance does not make it the cheaper one to lose. */
const MOSTLY_A: readonly ('a' | 'b')[] = ['a', 'b', ...Array.from({ length: 60 }, () => 'a' as const)]

const HELLO = 'Hello, how are you today?'

/** A model in memory is safe for so many milliseconds after its load. */
const SAFE = 2000

type State = Pick<YardState, 'instances' | 'memory' | 'models' | 'queue'>

function residents({ instances }: State): string[] {
  return instances.map(({ model }) => model).sort()
}

const booked = ({ memory }: State): number => memory.ram?.booked ?? Number.NaN
const budget = ({ memory }: State): number => memory.ram?.budget ?? Number.NaN

/** Sees every state at which something happens, and those in between. */
class Ledger {
  readonly events: YardEvent[] = []
  most = 0
  samples = 0
  readonly #yard: Yard
  readonly #unsubscribe: () => void
  readonly #timer: NodeJS.Timeout

  constructor(yard: Yard) {
    this.#yard = yard
    this.#unsubscribe = yard.subscribe((event) => {
      this.events.push(event)
      this.#sample()
    })
    this.#timer = setInterval(() => this.#sample(), 2)
  }

  #sample(): void {
    const state = this.#yard.state()
    this.samples++
    this.most = Math.max(this.most, booked(state))
    // What is booked is what its holders are booked with, the pages of their program once: nothing is left out.
    const sum = state.instances.reduce((total, instance) => total + (instance.booked.ram ?? 0), 0)
    assert.ok(booked(state) <= budget(state), `${booked(state)} of ${budget(state)} bytes are booked`)
    const again = Math.max(0, state.instances.length - 1) * PROGRAM_BYTES
    assert.ok(booked(state) >= sum - again && booked(state) <= sum, `${booked(state)} of ${sum} bytes`)
  }

  /** `model: why` of each unload. */
  get unloads(): string[] {
    return this.events.flatMap((event) =>
      event.name === 'unload-started' ? `${event.data.model}: ${event.data.reason}` : [],
    )
  }

  get loads(): string[] {
    return this.events.flatMap((event) => (event.name === 'load-started' ? event.data.model : []))
  }

  close(): void {
    clearInterval(this.#timer)
    this.#unsubscribe()
  }
}

async function hi(yard: Yard, model: string): Promise<string> {
  return await yard.chat({ model, messages: [user('hi')], temperature: 0 }).text()
}

describe.runIf(HAS_LLAMA)('three models of real weights and a budget (R3 f, R4–R7, M7)', () => {
  const test = ownYards()
  let models: Record<'a' | 'b' | 'c', { file: string; context: number }>
  /** What each of them needs, as planned. */
  let bytes: number
  beforeEach(async () => {
    const model = async (name: string): Promise<{ file: string; context: number }> => ({
      file: await copyOfTinyChat(test.home, name),
      context: 512,
    })
    models = { a: await model('a'), b: await model('b'), c: await model('c') }
    const yard = await test.open({ models })
    bytes = (await yard.plan('a')).bytes.ram ?? 0
    assert.ok(bytes > 10_000_000)
    await yard.stop()
  })

  /** What so many of them need together: the pages of their program only once. */
  const bytesOf = (copies: number): number => copies * bytes - (copies - 1) * PROGRAM_BYTES

  const open = async (
    budgetBytes: number,
    more: Record<string, ModelInput> = {},
  ): Promise<[Yard, Ledger]> => {
    const yard = await test.open({ memory: { budget: budgetBytes }, models: { ...models, ...more } })
    return [yard, new Ledger(yard)]
  }

  it('all three are in memory when the budget has just the bytes', async () => {
    const [yard, ledger] = await open(bytesOf(3))
    expect([await hi(yard, 'a'), await hi(yard, 'b'), await hi(yard, 'c')]).toEqual([HELLO, HELLO, HELLO])
    expect(residents(yard.state())).toEqual(['a', 'b', 'c'])
    expect(booked(yard.state())).toBe(bytesOf(3))
    expect(ledger.unloads).toEqual([])
    ledger.close()
  })

  it('with one byte less the third evicts the least recently used one, and nobody else; what was measured to fit is let in (BR-66)', async () => {
    const [yard, ledger] = await open(bytesOf(3) - 1)
    for (const model of MOSTLY_A) expect(await hi(yard, model)).toBe(HELLO)
    expect(await yard.plan('c')).toMatchObject<Partial<LoadForecast>>({ bytes: { ram: bytes } })
    expect(await hi(yard, 'c')).toBe(HELLO)
    expect(residents(yard.state())).toEqual(['a', 'c'])
    expect(ledger.unloads).toEqual([expect.stringMatching(/^b: frees .* for "c"/)])
    expect(yard.state().models.map(({ id, evictions }) => [id, evictions])).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 0],
    ])
    // R4, M4: what was measured counts at the next load, and it is less than what was promised.
    expect(await yard.plan('b')).toMatchObject({ outcome: 'fits', evicts: [] })
    expect((await yard.plan('b')).bytes.ram).toBeLessThan(bytes)
    expect(await hi(yard, 'b')).toBe(HELLO)
    expect(residents(yard.state())).toEqual(['a', 'b', 'c'])
    expect(ledger.loads).toEqual(['a', 'b', 'c', 'b'])
    expect(ledger.most).toBeLessThan(bytesOf(3))
    expect(ledger.samples).toBeGreaterThan(100)
    ledger.close()
  })

  it('a pinned one stays though it was used least recently (F19)', async () => {
    const [yard, ledger] = await open(bytesOf(2), { a: { ...models.a, pinned: true } })
    for (const model of ['a', 'b', 'c']) expect(await hi(yard, model)).toBe(HELLO)
    expect(residents(yard.state())).toEqual(['a', 'c'])
    expect(ledger.unloads).toEqual([expect.stringMatching(/^b: /)])
    ledger.close()
  })

  it('R6: what can never fit is refused at once with the numbers, and nobody goes for it', async () => {
    const huge = { file: models.c.file, context: 2048, slots: 128 }
    const [yard, ledger] = await open(bytesOf(3), { a: { ...models.a, pinned: true }, huge })
    for (const model of ['a', 'b']) expect(await hi(yard, model)).toBe(HELLO)
    await sleep(SAFE)
    const before = yard.state().instances.map(({ id }) => id)
    const refusal: unknown = await hi(yard, 'huge').catch((error: unknown) => error)
    expect(refusal).toMatchObject({
      code: 'model_too_large',
      details: { domain: 'ram', limit: bytesOf(3), pinned: [{ instance: 'a#1', bytes }], contextSize: 2048 },
    })
    const { details, message } = refusal as {
      message: string
      details: { need: number; largestContext: number }
    }
    expect(details.need).toBeGreaterThan(bytes)
    expect(message).toContain(`The largest context that fits is ${details.largestContext}`)
    expect(yard.state().instances.map(({ id }) => id)).toEqual(before)
    expect([ledger.unloads, ledger.loads]).toEqual([[], ['a', 'b']])
    ledger.close()
    // The promise holds: in the room beside the pinned one that context fits, and a step more of it does not.
    const outcome = async (context: number): Promise<LoadForecast['outcome']> => {
      await using other = await createYard({
        home: false,
        memory: { budget: bytesOf(2) },
        models: { huge: { ...huge, context } },
      })
      return (await other.plan('huge')).outcome
    }
    expect(await outcome(details.largestContext)).toBe('fits')
    expect(await outcome(details.largestContext + 256)).toBe('refused')
  })

  it('BR-17: whoever answers is never evicted; the other waits, visibly, and its own answer is whole', async () => {
    const [yard, ledger] = await open(bytes)
    const long = yard.chat({
      model: 'a',
      messages: [user('Count.')],
      temperature: 0,
      maxTokens: 400,
      logitBias: { 0: -100, 2: -100 },
    })
    const answering = long.answer()
    await until(() => yard.state().runs.active === 1)
    const waiting = hi(yard, 'b')
    await until(() => yard.state().queue.length === 1)
    expect(yard.state().queue).toMatchObject([
      { model: 'b', reason: expect.stringContaining('a#1') as string },
    ])
    const { result } = await answering
    expect(result).toMatchObject({ finishReason: 'length', usage: { completionTokens: 400 } })
    expect(await waiting).toBe(HELLO)
    expect(residents(yard.state())).toEqual(['b'])
    expect(ledger.unloads).toHaveLength(1)
    ledger.close()
  })
})

describe('requests that alternate between two models, with room for one (F20, BR-17, BR-47)', () => {
  const test = ownYards()

  it('are all answered, in far fewer loads than requests', async () => {
    const model = (name: string): ModelInput => ({
      engine: 'scripted',
      isolation: 'worker',
      memory: '100MiB',
      script: [{ text: [name, ' is', ' here'], delay: 2 }],
    })
    const yard = await test.open({
      memory: { budget: '150MiB' },
      models: { one: model('one'), two: model('two') },
    })
    const ledger = new Ledger(yard)
    const client = async (first: number): Promise<string[]> => {
      const texts: string[] = []
      for (let turn = 0; turn < 8; turn++)
        texts.push(await hi(yard, (first + turn) % 2 === 0 ? 'one' : 'two'))
      return texts
    }
    const clients = await Promise.all([client(0), client(1), client(0), client(1)])
    const [even, odd] = [
      Array.from({ length: 4 }, () => ['one is here', 'two is here']).flat(),
      Array.from({ length: 4 }, () => ['two is here', 'one is here']).flat(),
    ]
    expect(clients).toEqual([even, odd, even, odd])
    expect(ledger.loads.length).toBeLessThanOrEqual(10)
    ledger.close()
  })
})

describe.runIf(HAS_LLAMA)('the same as an operator sees it: `modelyard serve` and `modelyard ps`', () => {
  it('two are in memory, the third takes the place of the one that was used least recently', async () => {
    const home = await openHome()
    const entry = async (name: string): Promise<object> => ({
      file: await copyOfTinyChat(home, name),
      context: 512,
    })
    const models = { a: await entry('a'), b: await entry('b'), c: await entry('c') }
    await home.configure({ models })
    const plan = JSON.parse((await home.run(['plan', 'a', '--json'])).out) as LoadForecast
    const own = (plan.bytes.ram ?? 0) - PROGRAM_BYTES
    await home.configure({ models, memory: { budget: Math.floor(PROGRAM_BYTES + own * 2.5) } })
    const { api, stop } = await serve(home)
    const samples: State[] = []
    const watching = watchState(api, samples)
    const ps = async (): Promise<State> => JSON.parse((await home.run(['ps', '--json'])).out) as State

    const [greeting] = FIXED
    for (const model of MOSTLY_A) {
      expect(await api.chat('hi', { model })).toMatchObject({ status: 200, text: greeting?.answer })
    }
    expect(residents(await ps())).toEqual(['a', 'b'])
    expect(await api.chat('hi', { model: 'c' })).toMatchObject({ status: 200, text: greeting?.answer })
    const after = await ps()
    expect(residents(after)).toEqual(['a', 'c'])
    expect(booked(after)).toBe(PROGRAM_BYTES + 2 * own)
    expect((await home.run(['ps'])).out).toMatch(/a#1[^\n]*\n[^\n]*c#3/)
    expect((await api.model('b')).evictions).toBe(1)

    await watching()
    expect(samples.length).toBeGreaterThan(20)
    for (const sample of samples) expect(booked(sample)).toBeLessThanOrEqual(budget(sample))
    await stop()
    await home.remove()
  })
})

/** Reads the state again and again. @returns a function that ends it */
function watchState(api: Api, samples: State[]): () => Promise<void> {
  const ending = new AbortController()
  const watching = (async () => {
    while (!ending.signal.aborted) {
      samples.push(await api.state())
      await sleep(10)
    }
  })()
  return async () => {
    ending.abort()
    await watching
  }
}
