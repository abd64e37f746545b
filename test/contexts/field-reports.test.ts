import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Engine, LoadedModel } from '../../src/engines/engine.ts'
import { ScriptedEngine } from '../../src/engines/scripted/scripted-engine.ts'
import type { YardEvent, YardEvents } from '../../src/events/event-map.ts'
import type { Yard } from '../../src/yard.ts'
import type { YardOptions } from '../../src/yard-options.ts'
import { heldMemory } from '../held-memory.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { soonest } from '../soonest.ts'
import { HAS_LLAMA, ownYards, sleep, until, user } from '../yard/harness.ts'
import { ask, begin, goOn } from './turns.ts'

/** Bytes that a folder and all in it take, as `du` counts. */
async function diskUsage(folder: string): Promise<number> {
  let bytes = (await lstat(folder)).blocks * 512
  for (const name of await readdir(folder).catch(() => [])) {
    bytes += await lstat(join(folder, name)).then(
      ({ blocks }) => blocks * 512,
      () => 0,
    )
  }
  return bytes
}

const dataOf = <Name extends keyof YardEvents>(events: YardEvent[], name: Name): YardEvents[Name][] =>
  events.flatMap((event) => (event.name === name ? [event.data as YardEvents[Name]] : []))

interface Opened {
  yard: Yard
  events: YardEvent[]
}

const test = ownYards()

async function open(options: YardOptions): Promise<Opened> {
  const yard = await test.open({ contexts: { parking: 'always' }, ...options })
  const events: YardEvent[] = []
  yard.subscribe((event) => events.push(event))
  return { yard, events }
}

describe.runIf(HAS_LLAMA)('field reports of contexts on disk, with real weights', () => {
  type Model = { file: string; context: number; slots: number; isolation: 'none' }
  let a: Model
  let b: Model
  beforeEach(() => {
    const model = (name: string, seed: number): Model => ({
      file: makeTinyModel(join(test.home.path, `${name}.gguf`), { seed }).path,
      context: 512,
      slots: 1,
      isolation: 'none',
    })
    a = model('a', 1)
    b = model('b', 2)
  })

  it('BR-50: a short side prompt does not replace the long main chat', async () => {
    const { yard } = await open({ models: { a } })
    const main = await ask(yard, 'a', begin('main', 16))
    await ask(yard, 'a', [user('title')])
    await yard.unloadModel('a')
    const next = await ask(yard, 'a', goOn(begin('main', 16), main.text))
    expect(next.cached).toBeGreaterThan(main.prompt - 5)
  })

  it('BR-51: weights that were replaced in place reuse nothing, and the old files go', async () => {
    const { yard, events } = await open({ models: { a } })
    const first = await ask(yard, 'a', begin('x'))
    await yard.unloadModel('a')
    expect(dataOf(events, 'context-parked')).toHaveLength(1)
    makeTinyModel(a.file, { seed: 7 })
    const turn = goOn(begin('x'), first.text)
    const next = await ask(yard, 'a', turn)
    expect(next.cached).toBe(0)
    expect(dataOf(events, 'context-restored')).toEqual([])
    expect(dataOf(events, 'context-dropped')).toMatchObject([{ context: 'context-1' }])
    expect((await ask(yard, 'a', turn, 'none')).text).toBe(next.text)
  })

  it('BR-53, BR-55: `du` never exceeds the cap, across two models and restarts', async () => {
    const budget = 400_000
    const folder = join(test.home.path, 'contexts')
    let most = 0
    const ending = new AbortController()
    const watching = (async () => {
      while (!ending.signal.aborted) {
        most = Math.max(most, await diskUsage(folder).catch(() => 0))
        await sleep(1)
      }
    })()
    for (let start = 0; start < 2; start++) {
      const { yard } = await open({ models: { a, b }, contexts: { parking: 'always', budget } })
      for (let round = 0; round < 8; round++) {
        await ask(yard, round % 2 === 0 ? 'a' : 'b', begin(`${start} ${round}`, 4 + (round % 3) * 4))
      }
      await yard.stop()
    }
    ending.abort()
    await watching
    expect(most).toBeLessThanOrEqual(budget)
    expect(most).toBeGreaterThan(budget / 3)
  })

  it('BR-57: an unload loses nothing that was worth it: each of four slots is read back', async () => {
    const { yard, events } = await open({ models: { a: { ...a, slots: 4 } } })
    const names = ['p', 'q', 'r', 's']
    const firsts = await Promise.all(names.map(async (name) => ask(yard, 'a', begin(name))))
    await yard.unloadModel('a')
    expect(dataOf(events, 'context-parked')).toHaveLength(4)
    for (const [index, name] of names.entries()) {
      const { text = '', prompt = 0 } = firsts[index] ?? {}
      expect((await ask(yard, 'a', goOn(begin(name), text))).cached).toBeGreaterThan(prompt - 5)
    }
  })

  it("BR-58: A's idle unload delays B by less than 100 ms a token, and A's beginning is read back later", async () => {
    const { yard, events } = await open({ models: { a: { ...a, keepAlive: 1 }, b } })
    const first = await ask(yard, 'a', begin('x'))
    await ask(yard, 'b', begin('y'))
    const delayed = async (): Promise<number> => {
      const unloads = dataOf(events, 'unload-finished').length
      let slowest = 0
      while (dataOf(events, 'unload-finished').length === unloads) {
        const begun = performance.now()
        await ask(yard, 'b', begin('y'))
        slowest = Math.max(slowest, performance.now() - begun)
      }
      return slowest
    }
    // Twelve tokens and a prompt that is there already, on a machine that may be busy.
    const limit = 500
    const slowest = await soonest(async () => {
      if (yard.state().instances.every(({ model }) => model !== 'a')) await ask(yard, 'a', begin('x'))
      return await delayed()
    }, limit)
    expect(slowest).toBeLessThan(limit)
    expect((await ask(yard, 'a', goOn(begin('x'), first.text))).cached).toBeGreaterThan(first.prompt - 5)
  })

  it('BR-59: after any change of settings at run time the next repeat is reused', async () => {
    const { yard } = await open({ models: { a } })
    const messages = begin('x')
    await ask(yard, 'a', messages)
    const changes = [{ parking: 'off' }, { parking: 'worth', budget: 1000 }, { parking: 'always' }] as const
    for (const contexts of changes) {
      await yard.reconfigure({ ...yard.configuration, contexts })
      expect((await ask(yard, 'a', messages)).cached).toBeGreaterThan(40)
    }
    await yard.unloadModel('a')
    expect((await ask(yard, 'a', messages)).cached).toBeGreaterThan(40)
  })

  it.each([
    ['f16', {}],
    ['f32', { kvCacheType: 'f32' }],
    ['flash attention', { flashAttention: true }],
    ['several slots', { slots: 3 }],
    ['a worker of its own', { isolation: 'worker' as const }],
  ])('BR-60: whatever kind of cache is parked is read back after a restart: %s', async (_kind, more) => {
    const models = { a: { ...a, ...more } }
    const before = await open({ models })
    const first = await ask(before.yard, 'a', begin('x'))
    await before.yard.stop()
    const after = await open({ models })
    const turn = goOn(begin('x'), first.text)
    const next = await ask(after.yard, 'a', turn)
    expect(next.cached).toBeGreaterThan(first.prompt - 5)
    expect(next.text).toBe((await ask(after.yard, 'a', turn, 'none')).text)
  })

  it('BR-61: another type of the cache is a miss, not an error, and back again one more', async () => {
    const messages = begin('x')
    for (const kvCacheType of ['f16', 'f32', 'f16'] as const) {
      const { yard, events } = await open({ models: { a: { ...a, kvCacheType } } })
      expect((await ask(yard, 'a', messages)).cached).toBe(0)
      expect(dataOf(events, 'context-restored')).toEqual([])
      await yard.stop()
    }
  })

  it('BR-62: greedy answers after a restore are those of a fresh context, turn for turn', async () => {
    const { yard, events } = await open({ models: { a } })
    for (const name of ['x', 'y', 'z']) {
      let messages = begin(name)
      for (let turn = 0; turn < 3; turn++) {
        const warm = await ask(yard, 'a', messages)
        expect(warm.text).toBe((await ask(yard, 'a', messages, 'none')).text)
        messages = goOn(messages, warm.text)
      }
    }
    expect(dataOf(events, 'context-restored').length).toBeGreaterThanOrEqual(6)
  })

  it('BR-63: a growing agent chat computes only its new tokens, with others in between', async () => {
    const { yard } = await open({ models: { a } })
    let messages = begin('agent')
    let known = 0
    for (let turn = 0; turn < 5; turn++) {
      const now = await ask(yard, 'a', messages)
      expect(now.cached).toBeGreaterThanOrEqual(known)
      known = now.prompt - 5
      messages = goOn(messages, now.text)
      await ask(yard, 'a', [user(`other ${turn}`)])
    }
  })

  it('another context size reads what still fits, a moved model reads all', async () => {
    const { yard } = await open({ models: { a } })
    const first = await ask(yard, 'a', begin('x'))
    await yard.stop()
    const larger = await open({ models: { a: { ...a, context: 768 } } })
    expect((await ask(larger.yard, 'a', goOn(begin('x'), first.text))).cached).toBeGreaterThan(
      first.prompt - 5,
    )
  })
})

describe('contexts of a scripted model', () => {
  const scripted = {
    engine: 'scripted',
    slots: 1,
    script: [{ match: 'slot', echo: 'slot' }, { text: ['fine', ' thanks'] }],
  } as const

  it('BR-49: an engine whose restores do nothing is found out, marked and not written for any more', async () => {
    const { yard, events } = await open({
      engines: [new ForgetfulEngine()],
      models: { m: { engine: 'forgetful', slots: 1, isolation: 'none' } },
    })
    for (const name of ['a', 'b', 'a', 'b']) await ask(yard, 'm', begin(name))
    expect(dataOf(events, 'warning-raised')).toMatchObject([
      { code: 'contexts_unfit', message: expect.stringContaining('2 restores in a row') as string },
    ])
    const before = dataOf(events, 'context-parked').length
    for (const name of ['a', 'b', 'a', 'b']) await ask(yard, 'm', begin(name))
    expect(dataOf(events, 'context-parked')).toHaveLength(before)
  })

  it('a secret of one conversation is never in the slot of another, on whatever way it came there', async () => {
    const { yard, events } = await open({ models: { m: scripted } })
    for (let round = 0; round < 40; round++) {
      const secret = `SECRET-${round % 5}`
      await ask(yard, 'm', begin(secret))
      if (round % 7 === 3) await yard.unloadModel('m')
      const { text } = await ask(yard, 'm', [user(`other ${round} slot`)])
      expect(text).not.toContain('SECRET')
    }
    expect(dataOf(events, 'context-restored').length).toBeGreaterThan(10)
  })

  it(
    '1,000 rounds of parking and restoring leave neither files nor memory behind',
    { timeout: 120_000 },
    async () => {
      const { yard, events } = await open({ models: { m: scripted } })
      const round = async (count: number): Promise<void> => {
        for (let index = 0; index < count; index++) await ask(yard, 'm', begin(index % 2 === 0 ? 'a' : 'b'))
      }
      await round(200)
      const before = heldMemory()
      const restored = dataOf(events, 'context-restored').length
      await round(1000)
      expect(dataOf(events, 'context-restored').length - restored).toBeGreaterThanOrEqual(900)
      events.length = 0
      expect(heldMemory() - before).toBeLessThan(20_000_000)
      await until(async () => (await readdir(join(test.home.path, 'contexts'))).length <= 4)
    },
  )

  it('what is parked can be listed and removed, over HTTP as well; the state says what was spared', async () => {
    const { yard } = await open({ models: { m: scripted }, server: { port: 0 } })
    for (const name of ['a', 'b', 'a']) await ask(yard, 'm', begin(name))
    const listening = await yard.listen()
    const { url } = listening
    const list = async (): Promise<{ contexts: { id: string; model: string; tokens: number }[] }> =>
      (await (await fetch(`${url}/api/yard/contexts`)).json()) as never
    const { contexts } = await list()
    expect(contexts).toMatchObject([{ model: 'm', state: 'parked' }, { model: 'm' }])
    expect(JSON.stringify(contexts)).not.toContain('server')
    expect(yard.state().contexts).toMatchObject({ count: 2, limit: expect.any(Number) as number })
    expect(yard.state().models[0]?.contexts).toMatchObject({ restored: 1 })
    expect(yard.state().contexts.savedTokens).toBeGreaterThan(30)
    const remove = async (body: object): Promise<unknown> =>
      (
        await fetch(`${url}/api/yard/contexts/remove`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      ).json()
    expect(await remove({ ids: [contexts[0]?.id] })).toEqual({ removed: 1 })
    expect(await remove({ model: 'other' })).toMatchObject({ error: { code: 'model_not_found' } })
    expect(await remove({ model: 'm' })).toEqual({ removed: 1 })
    expect(await list()).toEqual({ contexts: [] })
    await until(async () => (await readdir(join(test.home.path, 'contexts'))).length === 0)
    await listening.close()
  })

  it('`cache: "none"` and `parking: false` write nothing', async () => {
    const { yard, events } = await open({ models: { m: scripted, n: { ...scripted, parking: false } } })
    for (const name of ['a', 'b', 'c']) {
      expect((await ask(yard, 'm', begin(name), 'none')).cached).toBe(0)
      await ask(yard, 'n', begin(name))
    }
    await yard.unloadModel('m')
    await yard.unloadModel('n')
    expect(dataOf(events, 'context-parked')).toEqual([])
    expect(await readdir(join(test.home.path, 'contexts'))).toEqual([])
  })
})

/** The scripted engine, but what it reads from a file is forgotten at once. */
class ForgetfulEngine implements Engine {
  readonly name = 'forgetful'
  readonly #inner = new ScriptedEngine()

  get capabilities(): Engine['capabilities'] {
    return this.#inner.capabilities
  }

  async detect(): ReturnType<Engine['detect']> {
    return this.#inner.detect()
  }

  plan(...[spec, facts, host]: Parameters<Engine['plan']>): ReturnType<Engine['plan']> {
    return { ...this.#inner.plan(spec, facts), engine: this.name, ...(host.cores < 0 && { threads: 0 }) }
  }

  async load(...[plan, options]: Parameters<Engine['load']>): Promise<LoadedModel> {
    const model = await this.#inner.load(plan, options)
    const read = model.restoreSlot?.bind(model)
    const restoreSlot = async (slot: number): Promise<boolean> => {
      await read?.(slot, '/nowhere')
      return true
    }
    return Object.assign(model, { restoreSlot })
  }
}
