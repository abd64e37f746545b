import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdir, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Lease } from '../../src/pool/lease.ts'
import type { Part } from '../../src/tasks/part.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import type { YardOptions } from '../../src/yard-options.ts'
import type { TestHome } from '../cli/program.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { soonest } from '../soonest.ts'
import { Api, HAS_LLAMA, isRunning, openHome, ownYards, serve, TALKER, until, user } from './harness.ts'

const test = ownYards()
const { open } = test

describe.runIf(HAS_LLAMA)('the library without a configuration file and without a server', () => {
  let real: TestHome
  let yard: Yard
  beforeAll(async () => {
    real = await openHome()
    const vectors = join(real.path, 'vectors.gguf')
    makeTinyModel(vectors, { pooling: 'mean', causal: false })
    yard = await createYard({
      home: real.path,
      models: {
        'org/tiny-chat': { file: TINY_CHAT, context: 512, aliases: 'tiny' },
        vectors: { file: vectors },
      },
    })
  })
  afterAll(async () => {
    await yard.stop()
    await real.remove()
  })

  it('chat: iterate it for the parts, and its result is there at the end', async () => {
    const parts: Part[] = []
    const stream = yard.chat({ model: 'tiny', messages: [user('hi')], temperature: 0 })
    for await (const part of stream) parts.push(part)
    expect(parts[0]).toEqual({ type: 'started', promptTokens: 12, cachedTokens: 0 })
    expect(parts.map((part) => (part.type === 'text' ? part.text : '')).join('')).toBe(
      'Hello, how are you today?',
    )
    expect(stream.result).toMatchObject({
      finishReason: 'stop',
      usage: { promptTokens: 12, completionTokens: 7 },
    })
    expect(stream.info).toMatchObject({ model: 'org/tiny-chat', slot: 0 })
    expect(stream.info.placement).toContain('slot 0 of')
  })

  it('chat: .text() and .answer() give the whole', async () => {
    const ask = { model: 'org/tiny-chat', messages: [user('Hello, how are you today?')], temperature: 0 }
    expect(await yard.chat(ask).text()).toBe('I am fine, thank you.')
    expect(await yard.chat(ask).answer()).toMatchObject({
      text: 'I am fine, thank you.',
      message: { role: 'assistant', content: 'I am fine, thank you.' },
      result: { finishReason: 'stop' },
    })
  })

  it('complete: goes on where the prompt ends', async () => {
    const prompt = '<|im_start|>user\nCount.<|im_end|>\n<|im_start|>assistant\n'
    const free = await yard.complete({ model: 'tiny', prompt, temperature: 0, maxTokens: 8 }).answer()
    expect(free.result).toMatchObject({ finishReason: 'length', usage: { completionTokens: 8 } })
    expect(await yard.complete({ model: 'tiny', prompt: 'Count.', maxTokens: 0 }).text()).toBe('')
  })

  it('embed: one unit vector for each text, in order', async () => {
    const { vectors, usage } = await yard.embed({
      model: 'vectors',
      input: ['one text', 'another', 'one text'],
    })
    expect(vectors).toHaveLength(3)
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
    expect(vectors[0]).toEqual(vectors[2])
    expect(vectors[0]).not.toEqual(vectors[1])
    expect(usage.promptTokens).toBeGreaterThan(0)
    const { vectors: single } = await yard.embed({ model: 'vectors', input: 'another' })
    expect(single[0]).toEqual(vectors[1])
  })

  it('a lease is the right to a slot until it is disposed, and releasing it again is harmless (P3, F9)', async () => {
    let kept: Lease
    {
      await using lease = await yard.pool.acquire({ model: 'org/tiny-chat' })
      kept = lease
      expect(yard.state()).toMatchObject({ runs: { active: 1 } })
      const task = {
        kind: 'chat' as const,
        messages: [user('Count.')],
        sampling: { temperature: 0 },
        stop: [],
      }
      let text = ''
      for await (const part of lease.run(task)) if (part.type === 'text') text += part.text
      expect(text).toBe('one two three four five six seven eight nine ten')
    }
    expect(yard.state()).toMatchObject({ runs: { active: 0 } })
    await using other = await yard.pool.acquire({ model: 'org/tiny-chat' })
    kept.release()
    expect(other.signal.aborted).toBe(false)
    expect(yard.state()).toMatchObject({ runs: { active: 1 } })
  })

  it('handler: the HTTP API in a server of one’s own', async () => {
    const server = createServer(yard.handler())
    await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle))
    try {
      const api = new Api(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
      expect(await api.chat('hi', { model: 'tiny' })).toMatchObject({
        status: 200,
        text: 'Hello, how are you today?',
      })
      const stream = await (await api.stream('Count.', { model: 'tiny' })).readAll()
      expect(stream.text).toBe('one two three four five six seven eight nine ten')
      expect(stream.events.at(-1)).toBe('[DONE]')
      expect(yard.state().url).toBeNull()
    } finally {
      server.closeAllConnections()
      await new Promise((settle) => server.close(settle))
    }
  })

  it('listen: opens a server of its own, and the yard goes on after it is closed', async () => {
    const listening = await yard.listen({ port: 0 })
    const api = new Api(listening.url)
    expect(listening).toMatchObject({ host: '127.0.0.1', port: api.port })
    expect(await api.state()).toMatchObject({ url: listening.url, home: real.path })
    await expect(yard.listen({ port: listening.port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
    await listening.close()
    await expect(api.state()).rejects.toThrow('fetch failed')
    expect(await yard.chat({ model: 'tiny', messages: [user('hi')], temperature: 0 }).text()).toBe(
      'Hello, how are you today?',
    )
  })
})

describe('P12: stop', () => {
  it('ends every child and answers everybody; twice is harmless', async () => {
    const yard = await open({ models: { talker: { ...TALKER, isolation: 'worker', slots: 1 } } })
    const running = yard.chat({ model: 'talker', messages: [user('for ever')] }).answer()
    await until(() => yard.state().runs.active === 1)
    const waiting = yard.chat({ model: 'talker', messages: [user('hi')] }).text()
    await until(() => yard.state().queue.length === 1)
    const { pid = 0 } = yard.state().instances[0] ?? {}
    expect(isRunning(pid)).toBe(true)
    const stopped = yard.stop({ deadline: 200 })
    expect(yard.stop()).toBe(stopped)
    await expect(waiting).rejects.toMatchObject({ code: 'shutting_down' })
    await expect(running).rejects.toMatchObject({ code: 'shutting_down' })
    await stopped
    expect(isRunning(pid)).toBe(false)
    await yard.stop()
    await expect(yard.chat({ model: 'talker', messages: [user('hi')] }).text()).rejects.toMatchObject({
      code: 'shutting_down',
    })
  })

  it('`await using` stops it', async () => {
    let yard: Yard
    {
      await using own = await createYard({
        home: test.home.path,
        models: { talker: { ...TALKER, isolation: 'worker' } },
      })
      yard = own
      expect(await yard.chat({ model: 'talker', messages: [user('hi')] }).text()).toBe('Hello')
    }
    expect(yard.state().instances).toEqual([])
    await expect(open({})).resolves.toBeDefined()
  })
})

describe('a program that uses the library', () => {
  const SCRIPTED: YardOptions = {
    models: { talker: { engine: 'scripted', isolation: 'worker', script: [{ text: 'Hello' }] } },
  }
  const real = { models: { tiny: { file: TINY_CHAT, context: 512 } } }

  async function run(
    ending: string,
    configuration: object,
  ): Promise<{ code: number | null; out: string; err: string; pid: number }> {
    const program = resolve(import.meta.dirname, '../programs/uses-library.mjs')
    const words = [program, ending, JSON.stringify({ home: test.home.path, ...configuration })]
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] })
    let [out, err] = ['', '']
    child.stdout.on('data', (data: Buffer) => (out += data.toString()))
    child.stderr.on('data', (data: Buffer) => (err += data.toString()))
    const code = await new Promise<number | null>((settle) => child.once('close', settle))
    const { pid = 0 } = JSON.parse(out.split('\n', 1)[0] ?? '{}') as { pid?: number }
    return { code, out, err, pid }
  }

  it('ends by itself after stop(): no timer, socket or child holds it', async () => {
    const { code, out, err, pid } = await run('stop', SCRIPTED)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/"status":200.*\nstopped\n$/)
    expect(isRunning(pid)).toBe(false)
  })

  it.runIf(HAS_LLAMA)('does so with real weights in a worker and in its own process (BR-27)', async () => {
    const { code, out, err } = await run('stop', real)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('Hello, how are you today?')
    const inside = { models: { tiny: { file: TINY_CHAT, context: 512, isolation: 'none' } } }
    expect(await run('stop', inside)).toMatchObject({ code: 0, err: '' })
  })

  it.each(['exit', 'throw'])(
    'that ends without stop (%s) leaves no worker behind for 2 s (BR-19, R15)',
    async (ending) => {
      const took = await soonest(async () => {
        const { code, pid } = await run(ending, SCRIPTED)
        expect(code).toBe(ending === 'exit' ? 0 : 1)
        expect(pid).toBeGreaterThan(0)
        return await until(() => !isRunning(pid))
      }, 2000)
      expect(took).toBeLessThan(2000)
      expect(await (await open(SCRIPTED)).chat({ model: 'talker', messages: [user('hi')] }).text()).toBe(
        'Hello',
      )
    },
  )
})

describe('home', () => {
  it('false keeps nothing: no database, no lock, no folder is left', async () => {
    const temporary = join(test.home.path, 'temporary')
    await mkdir(temporary)
    const before = { TMPDIR: process.env.TMPDIR, MODELYARD_HOME: process.env.MODELYARD_HOME }
    Object.assign(process.env, { TMPDIR: temporary, MODELYARD_HOME: join(test.home.path, 'own') })
    try {
      const yard = await createYard({ home: false, models: { talker: { ...TALKER, isolation: 'worker' } } })
      expect(yard.state().home).toBeNull()
      expect(await yard.chat({ model: 'talker', messages: [user('hi')] }).text()).toBe('Hello')
      await yard.stop()
    } finally {
      for (const [name, value] of Object.entries(before)) {
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      }
    }
    expect(await readdir(temporary)).toEqual([])
    expect(await readdir(test.home.path)).not.toContain('own')
  })

  it('two yards on one home: the second is told who owns it (M16, C0)', async () => {
    await open({})
    await expect(createYard({ home: test.home.path })).rejects.toMatchObject({
      code: 'home_in_use',
      details: { pid: process.pid },
      message: expect.stringContaining(String(process.pid)) as string,
    })
  })

  it('a library beside a server on one home is told its pid and address', async () => {
    await test.home.configure({ models: { talker: TALKER } })
    const { program, stop } = await serve(test.home)
    await expect(createYard({ home: test.home.path })).rejects.toMatchObject({
      code: 'home_in_use',
      details: { pid: program.pid, url: program.url },
    })
    await stop()
    await expect(open({})).resolves.toBeDefined()
  })
})

describe('P1, P2: wrong options are told before anything starts, with the name that was meant', () => {
  it.each<[what: string, options: object, named: RegExp]>([
    ['a model’s option', { models: { a: { engine: 'scripted', slotts: 2 } } }, /slotts.*"slots"/s],
    ['an option of createYard', { memroy: { budget: 1 } }, /memroy.*"memory"/s],
    ['a nested option', { memory: { bugdet: 1 } }, /bugdet.*"budget"/s],
    ['an engine', { models: { a: { engine: 'skripted' } } }, /"scripted"/],
    ['an id with a space', { models: { 'a b': { engine: 'scripted' } } }, /a b/],
    [
      'more at least than at most',
      { models: { a: { engine: 'scripted', minInstances: 3, maxInstances: 2 } } },
      /minInstances.*3|3.*minInstances/s,
    ],
    ['a size that is none', { memory: { budget: 'plenty' } }, /budget/],
  ])('%s', async (_, options, named) => {
    const opening = createYard({ home: test.home.path, ...(options as YardOptions) })
    await expect(opening).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(named) as string,
    })
    expect(await readdir(test.home.path)).not.toContain('owner.json')
  })

  it('a call’s mistyped option is refused by the call itself', async () => {
    const yard = await open({ models: { talker: TALKER } })
    const wrong = { model: 'talker', messages: [user('hi')], temprature: 0 }
    expect(() => yard.chat(wrong)).toThrow(/temprature.*"temperature"/)
    await expect(yard.chat({ model: 'talkr', messages: [user('hi')] }).text()).rejects.toMatchObject({
      code: 'model_not_found',
      details: { nearest: ['talker'] },
    })
  })
})
