import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { YardEvent } from '../../src/events/event-map.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import type { TestHome } from '../cli/program.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { soonest } from '../soonest.ts'
import {
  Api,
  type ChatAnswer,
  type ChatStream,
  descendants,
  ENDLESS,
  FIXED,
  HAS_LLAMA,
  isRunning,
  openHome,
  ownYards,
  serve,
  type ServedYard,
  sleep,
  until,
  user,
} from './harness.ts'

const HELLO = 'Hello, how are you today?'
const COUNT = 'one two three four five six seven eight nine ten'

/** Milliseconds that a worker may live on when its server is gone (R15). */
const GONE = 2000

/** Far more than the model was made for: what goes on until its context is full goes on for long enough. */
const LONG = 16_384

const SCRIPTED = {
  engine: 'scripted',
  isolation: 'worker',
  slots: 2,
  script: [
    { match: 'think long', prefill: 2500, text: ['thought', ' through'] },
    { match: 'poison', exitAt: 'prefill', text: 'never' },
    { match: 'half', exitAt: 6, delay: 40, text: 'one two three four five six seven eight' },
    { match: 'for ever', text: 'tick ', repeat: 100_000, delay: 10 },
    { text: 'fine' },
  ],
} as const

/** Ends a process as the system does when memory runs out. */
function killNine(pid: number): void {
  process.kill(pid, 'SIGKILL')
}

describe('a worker that is killed (R11, R12, M19)', () => {
  let home: TestHome
  let served: ServedYard
  let api: Api
  beforeAll(async () => {
    home = await openHome({
      models: {
        talker: SCRIPTED,
        ...(HAS_LLAMA && { tiny: { file: TINY_CHAT, context: LONG, slots: 4 } }),
      },
    })
    served = await serve(home)
    ;({ api } = served)
  })
  afterAll(async () => {
    await served.stop()
    await home.remove()
  })

  async function workerOf(model: string): Promise<number> {
    const { pid = 0 } = (await api.instance(model)) ?? {}
    expect(descendants(served.program.pid)).toContain(pid)
    return pid
  }

  it.runIf(HAS_LLAMA)(
    'in the middle of a stream: it ends with an error event and [DONE], and the next request works',
    async () => {
      const stream = await api.stream('Count.', { model: 'tiny', logit_bias: ENDLESS })
      await stream.readText(COUNT.length)
      expect(stream.text.startsWith(COUNT)).toBe(true)
      const pid = await workerOf('tiny')
      killNine(pid)
      await stream.readAll()
      expect(stream.finishReasons).toEqual([])
      expect(stream.errors).toMatchObject([
        { code: 'worker_exited', message: expect.stringContaining('SIGKILL') as string },
      ])
      expect(stream.events.at(-1)).toBe('[DONE]')
      expect(stream.events.filter((event) => event === '[DONE]')).toHaveLength(1)
      expect(await api.chat('hi', { model: 'tiny' })).toMatchObject({ status: 200, text: HELLO })
      expect(await workerOf('tiny')).not.toBe(pid)
      expect(isRunning(pid)).toBe(false)
    },
  )

  it.runIf(HAS_LLAMA)('under four streams: each is told, and none of them hangs', async () => {
    const streams = await Promise.all(
      FIXED.map(({ messages }) => api.stream(messages, { model: 'tiny', logit_bias: ENDLESS })),
    )
    expect(streams).toHaveLength(4)
    await Promise.all(streams.map((stream) => stream.readText(1)))
    killNine(await workerOf('tiny'))
    for (const stream of streams) {
      await stream.readAll()
      expect([stream.finishReasons, stream.errors.length, stream.events.at(-1)]).toEqual([[], 1, '[DONE]'])
    }
    expect(await api.chat('Count.', { model: 'tiny' })).toMatchObject({ status: 200, text: COUNT })
  })

  it('an answer in one piece is an error then, in OpenAI’s shape, that may be tried again', async () => {
    const answer = api.chat('half of it', { model: 'talker' })
    expect(await answer).toMatchObject({
      status: 503,
      body: { error: { code: 'worker_exited', type: 'server_error' } },
    })
    expect((await answer).headers.get('retry-after')).not.toBeNull()
  })

  describe('before its first token: the run is repeated unseen (R11)', () => {
    /** Kills the worker while the answer is prepared. @returns how often the model was loaded for it */
    async function killUnder(asking: () => Promise<unknown>): Promise<number> {
      await api.chat('warm up', { model: 'talker' })
      const { loads = 0 } = await api.model('talker')
      const pid = await workerOf('talker')
      const answer = asking()
      await api.until(({ runs }) => runs.active === 1)
      await sleep(100)
      killNine(pid)
      await answer
      return ((await api.model('talker')).loads ?? 0) - loads
    }

    it('in one piece', async () => {
      let answer: ChatAnswer | undefined
      const loads = await killUnder(async () => {
        answer = await api.chat('think long', { model: 'talker' })
      })
      expect(answer).toMatchObject({ status: 200, text: 'thought through', finish: 'stop' })
      expect(loads).toBe(1)
    })

    it('streamed', async () => {
      let answer: ChatStream | undefined
      const loads = await killUnder(async () => {
        answer = await (await api.stream('think long', { model: 'talker' })).readAll()
      })
      expect([answer?.text, answer?.finishReasons, answer?.errors]).toEqual(['thought through', ['stop'], []])
      expect(loads).toBe(1)
    })
  })

  it('R12: that stands still (SIGSTOP) while idle is replaced within a few seconds of its next request, which is answered', async () => {
    await api.chat('warm up', { model: 'talker' })
    await api.until(({ runs }) => runs.active === 0)
    const pid = await workerOf('talker')
    process.kill(pid, 'SIGSTOP')
    const begun = performance.now()
    const answer = await api.chat('hello', { model: 'talker' })
    // It took 20 s before idle workers were asked: 3 s, and the time of a load.
    expect(performance.now() - begun).toBeLessThan(12_000)
    expect(answer).toMatchObject({ status: 200, text: 'fine' })
    expect(await workerOf('talker')).not.toBe(pid)
    expect(isRunning(pid)).toBe(false)
  })

  it('while others wait for it: they are served by the next one', async () => {
    const streams = await Promise.all([1, 2].map(() => api.stream('for ever', { model: 'talker' })))
    for (const stream of streams) await stream.readText(10)
    const waiting = [1, 2, 3].map(() => api.chat('hello', { model: 'talker' }))
    await api.until(({ queue }) => queue.length === 3)
    killNine(await workerOf('talker'))
    for (const answer of waiting) expect(await answer).toMatchObject({ status: 200, text: 'fine' })
    for (const stream of streams) expect((await stream.readAll()).errors).toHaveLength(1)
  })

  it('P16: a request that crashes it twice is refused from then on, and the model goes on', async () => {
    const { loads = 0 } = await api.model('talker')
    const first = await api.chat('poison', { model: 'talker' })
    expect(first).toMatchObject({ status: 500, body: { error: { code: 'request_crashes_worker' } } })
    expect(first.headers.get('x-should-retry')).toBe('false')
    expect(await api.chat('hello', { model: 'talker' })).toMatchObject({ status: 200, text: 'fine' })
    const { loads: after = 0 } = await api.model('talker')
    expect(after).toBeLessThanOrEqual(loads + 2)
    const pid = await workerOf('talker')
    for (let again = 0; again < 3; again++) {
      expect(await api.chat('poison', { model: 'talker' })).toMatchObject({ status: 500 })
    }
    expect(await workerOf('talker')).toBe(pid)
    expect((await api.model('talker')).loads).toBe(after)
    expect(await api.chat('poison, but another one', { model: 'talker' })).toMatchObject({ status: 500 })
    expect(await api.chat('hello', { model: 'talker' })).toMatchObject({ status: 200, text: 'fine' })
  })
})

describe('a server that is killed', () => {
  let home: TestHome
  beforeEach(async () => {
    home = await openHome({
      models: {
        talker: SCRIPTED,
        ...(HAS_LLAMA && { tiny: { file: TINY_CHAT, context: LONG } }),
      },
    })
  })
  afterEach(async () => await home.remove())

  /** Starts answers that never end on every model. @returns the workers */
  async function busyWorkers({ api, program }: ServedYard): Promise<number[]> {
    const models = (await api.state()).models.map(({ id }) => id)
    for (const model of models) {
      const fields = model === 'tiny' ? { model, logit_bias: ENDLESS } : { model }
      const stream = await api.stream('for ever', fields)
      await stream.readText(5)
    }
    const workers = descendants(program.pid)
    expect(workers).toHaveLength(models.length)
    return workers
  }

  it('−9: no worker survives 2 s, and the next server on that home works at once (R15, BR-19)', async () => {
    const took = await soonest(async () => {
      const served = await serve(home)
      const workers = await busyWorkers(served)
      served.program.kill('SIGKILL')
      await served.program.ended
      return await until(() => !workers.some(isRunning))
    }, GONE)
    expect(took).toBeLessThan(GONE)
    const next = await serve(home)
    expect(await next.api.chat('hello', { model: 'talker' })).toMatchObject({ text: 'fine' })
    const greeting = HAS_LLAMA ? (await next.api.chat('hi', { model: 'tiny' })).text : HELLO
    expect(greeting).toBe(HELLO)
    await next.stop()
  })

  it('SIGTERM: an answer that ends in time is whole, and nothing is left', async () => {
    const served = await serve(home)
    const model = HAS_LLAMA ? 'tiny' : 'talker'
    const stream = await served.api.stream('Count.', { model, logit_bias: ENDLESS, max_tokens: 400 })
    await stream.readText(5)
    const workers = descendants(served.program.pid)
    // The answer goes on when somebody else has been refused, however long that takes; then it has ten seconds.
    for (const worker of workers) process.kill(worker, 'SIGSTOP')
    served.program.kill('SIGTERM')
    const ready = (): Promise<boolean> => fetch(`${served.api.url}/readyz`).then(({ ok }) => ok)
    await until(async () => !(await ready().catch(() => false)))
    const outcome = await served.api.chat('hi', { model }).catch((error: Error) => error.message)
    for (const worker of workers) process.kill(worker, 'SIGCONT')
    expect(['fetch failed', 503]).toContain(typeof outcome === 'string' ? outcome : outcome.status)
    await stream.readAll()
    expect([stream.errors, stream.events.at(-1)]).toEqual([[], '[DONE]'])
    expect(stream.finishReasons).toHaveLength(1)
    expect(await served.program.ended).toMatchObject({ code: 0 })
    expect(workers.filter(isRunning)).toEqual([])
  })

  it('SIGTERM twice: it ends at once, and no worker survives 2 s', async () => {
    const took = await soonest(async () => {
      const served = await serve(home)
      const workers = await busyWorkers(served)
      served.program.kill('SIGTERM')
      await served.program.tells('Stopping')
      served.program.kill('SIGTERM')
      expect(await served.program.ended).toMatchObject({ code: 143 })
      return await until(() => !workers.some(isRunning))
    }, GONE)
    expect(took).toBeLessThan(GONE)
  })
})

describe('a yard that stops under its clients (P12)', () => {
  const { open } = ownYards()

  it('answers that do not end by the deadline end with an error in their stream, and those who wait are told', async () => {
    const yard: Yard = await open({ models: { talker: { ...SCRIPTED, slots: 1 } } })
    const events: YardEvent[] = []
    yard.subscribe((event) => events.push(event))
    const api = new Api((await yard.listen({ port: 0 })).url)
    const stream = await api.stream('for ever', { model: 'talker' })
    await stream.readText(10)
    const waiting = api.chat('hello', { model: 'talker' })
    await until(() => yard.state().queue.length === 1)
    const stopped = yard.stop({ deadline: 300 })
    expect(await waiting).toMatchObject({ status: 503, body: { error: { code: 'shutting_down' } } })
    await stream.readAll()
    expect(stream.errors).toMatchObject([{ code: 'shutting_down' }])
    expect([stream.finishReasons, stream.events.at(-1)]).toEqual([[], '[DONE]'])
    await stopped
    await expect(api.state()).rejects.toThrow('fetch failed')
    expect(events.filter(({ name }) => name === 'lease-granted')).toHaveLength(1)
    expect(yard.state().instances).toEqual([])
  })

  it('a failed start leaves the home free', async () => {
    const broken = {
      engine: 'scripted',
      prepare: 'blocking',
      failLoad: { class: 'bad_file', message: 'It is no model.' },
    } as const
    const home = await openHome()
    await expect(createYard({ home: home.path, models: { broken } })).rejects.toMatchObject({
      code: 'model_load_failed',
    })
    const yard = await createYard({ home: home.path, models: { talker: SCRIPTED } })
    expect(await yard.chat({ model: 'talker', messages: [user('hello')] }).text()).toBe('fine')
    await yard.stop()
    await home.remove()
  })
})
