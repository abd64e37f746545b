import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import type { Message } from '../../src/tasks/message.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { removeFolder, temporaryFolder, TINY_CHAT } from '../models/paths.ts'
import { AT_ONCE, soonest } from '../soonest.ts'
import { ask, chat, completion, load, NEVER, read } from './fixtures.ts'

let folder: string
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(async () => removeFolder(folder))

describe('four slots', () => {
  let model: LoadedModel
  beforeAll(async () => {
    model = await load(TINY_CHAT, { slots: 4 })
  })
  afterAll(async () => model.unload())

  it('answer four conversations side by side, each its own', async () => {
    const asked = ['hi', 'Count.', 'Hello, how are you today?', 'Count.']
    const answers = await Promise.all(asked.map((text, slot) => ask(model, chat(text), { slot })))
    expect(answers.map(({ text }) => text)).toEqual([
      'Hello, how are you today?',
      'one two three four five six seven eight nine ten',
      'I am fine, thank you.',
      'one two three four five six seven eight nine ten',
    ])
  })

  it('keep what a conversation shares with its last turn, and give the same text with it', async () => {
    const turns: Message[] = [{ role: 'user', content: 'hi' }]
    const first = await ask(model, chat(turns), { slot: 1 })
    turns.push({ role: 'assistant', content: first.text }, { role: 'user', content: 'Count.' })
    const warm = await ask(model, chat(turns), { slot: 1, keptPrefix: 1 })
    const cold = await ask(model, chat(turns), { slot: 2, keptPrefix: 0 })
    expect(warm.result.usage.cachedTokens).toBeGreaterThan(first.result.usage.promptTokens)
    expect(cold.result.usage.cachedTokens).toBe(0)
    expect(warm.text).toBe(cold.text)
    expect(warm.result.usage.promptTokens).toBe(cold.result.usage.promptTokens)
  })

  it('always evaluate at least one token of the prompt', async () => {
    await ask(model, chat('hi'), { slot: 3 })
    const again = await ask(model, chat('hi'), { slot: 3, keptPrefix: 1 })
    expect(again.text).toBe('Hello, how are you today?')
    expect(again.result.usage.cachedTokens).toBe(again.result.usage.promptTokens - 1)
  })
})

/** A model of noise whose answer depends on every token before it: any leak would change it. */
describe('F1: another conversation in the same slot', () => {
  let model: LoadedModel
  const secret = (name: string): Message[] => [
    { role: 'system', content: `The secret of ${name} is ${name.repeat(5)}.` },
    { role: 'user', content: `Tell the story of ${name}, and nothing else.` },
  ]
  const answer = async (name: string, slot: number, keptPrefix: number): Promise<string> => {
    const { text } = await ask(model, chat(secret(name), { maxTokens: 16 }), { slot, keptPrefix })
    return text
  }
  beforeAll(async () => {
    const { path } = makeTinyModel(`${folder}/noise.gguf`, { layers: 3 })
    model = await load(path, { slots: 2, context: 1024 })
  })
  afterAll(async () => model.unload())

  it('never changes an answer, whatever prefix the caller believes to be kept', async () => {
    const alone = { a: await answer('anna', 1, 0), b: await answer('bert', 1, 0) }
    expect(alone.a).not.toBe(alone.b)
    for (const keptPrefix of [0, 1, 2, 7, 1000]) {
      expect(await answer('anna', 0, keptPrefix)).toBe(alone.a)
      expect(await answer('bert', 0, keptPrefix)).toBe(alone.b)
    }
  })

  it('is not in the slot after a run that was given up', async () => {
    const alone = await answer('anna', 1, 0)
    const abort = new AbortController()
    const stream = model.run(chat(secret('bert')), { slot: 0, keptPrefix: 0, signal: abort.signal })
    for (let count = 0; count < 5; count++) await stream.next()
    abort.abort(new Error('enough'))
    await expect(stream.next()).rejects.toThrow('enough')
    expect(await answer('anna', 0, 1)).toBe(alone)
  })
})

describe('BR-07: a context of 128 tokens', () => {
  let model: LoadedModel
  const prompt = (tokens: number): number[] => Array.from({ length: tokens }, (_, index) => 65 + (index % 20))
  beforeAll(async () => {
    const { path } = makeTinyModel(`${folder}/short.gguf`, { context: 128 })
    model = await load(path, { context: 128, slots: 2 })
  })
  afterAll(async () => model.unload())

  it.each([128, 129, 5000])('refuses a prompt of %i tokens with both numbers', async (tokens) => {
    const failure = await ask(model, completion(prompt(tokens))).catch((error: unknown) => error)
    expect(failure).toMatchObject({
      code: 'context_length_exceeded',
      details: { promptTokens: tokens, contextSize: 128 },
    })
    expect((failure as Error).message).toMatch(new RegExp(`maximum context length is 128 .* ${tokens}`))
  })

  it('refuses 40 MB of text before cutting it into tokens, which would silence the worker for a minute', async () => {
    const text = 'ab '.repeat(14_000_000)
    const began = performance.now()
    for (const task of [completion(text), chat(text)]) {
      const failure = await ask(model, task).catch((error: unknown) => error)
      expect(failure).toMatchObject({ code: 'context_length_exceeded', details: { contextSize: 128 } })
      expect((failure as Error).message).toMatch(/maximum context length is 128 .* at least \d{6}/)
    }
    expect(performance.now() - began).toBeLessThan(20_000)
  })

  it('answers a prompt of 127 tokens with the one token that is left', async () => {
    const { result } = await ask(model, completion(prompt(127)))
    expect(result.finishReason).toBe('length')
    expect(result.usage).toMatchObject({ promptTokens: 127, completionTokens: 1 })
  })

  it('fills the context and no more, whatever was asked for', async () => {
    const { result } = await ask(model, completion(prompt(100), { maxTokens: 5000 }))
    expect(result.finishReason).toBe('length')
    expect(result.usage.completionTokens).toBe(28)
  })

  it('never shifts: the next turn still finds the whole beginning', async () => {
    await ask(model, completion(prompt(100)))
    const { result } = await ask(model, completion(prompt(110)), { keptPrefix: 1 })
    expect(result.usage.cachedTokens).toBeGreaterThanOrEqual(100)
  })
})

describe('200 short chats', () => {
  it('BR-27: some given up at any point, leave every slot usable and every answer right', async () => {
    const model = await load(TINY_CHAT, { slots: 4 })
    const random = (below: number): number => Math.floor(Math.random() * below)
    const short = async (slot: number): Promise<void> => {
      const abort = new AbortController()
      const patience = random(2) === 0 ? random(9) : Number.POSITIVE_INFINITY
      let seen = 0
      const stream = model.run(chat('hi'), { slot, keptPrefix: random(2), signal: abort.signal })
      const answer = read(stream, () => {
        if (seen++ >= patience) abort.abort(new Error('given up'))
      })
      if (patience === 0) abort.abort(new Error('given up'))
      const outcome = await answer.then(
        ({ text }) => text,
        (error: Error) => error.message,
      )
      expect(['Hello, how are you today?', 'given up']).toContain(outcome)
    }
    const four = async (slot: number): Promise<void> => {
      for (let count = 0; count < 50; count++) await short(slot)
    }
    await Promise.all([0, 1, 2, 3].map(four))
    for (const slot of [0, 1, 2, 3]) {
      expect((await ask(model, chat('hi'), { slot })).text).toBe('Hello, how are you today?')
    }
    await model.unload()
    expect(await model.exited).toMatchObject({ expected: true })
    await expect(ask(model, chat('hi'))).rejects.toMatchObject({ code: 'worker_exited' })
  })
})

describe('giving up', () => {
  let model: LoadedModel
  beforeAll(async () => {
    const { path } = makeTinyModel(`${folder}/slow.gguf`, {
      dimension: 256,
      layers: 8,
      heads: 8,
      keyValueHeads: 4,
      feedForward: 768,
      context: 8192,
    })
    model = await load(path, { context: 8192, slots: 2 })
    await model.warmUp(NEVER)
  })
  afterAll(async () => model.unload())

  const giveUpAfter = async (milliseconds: number): Promise<number> => {
    const abort = new AbortController()
    const long = completion('the model and the server '.repeat(1200), { maxTokens: 500 })
    const stream = model.run(long, { slot: 0, keptPrefix: 0, signal: abort.signal })
    const answer = read(stream).then(
      () => 'finished',
      (error: Error) => error.message,
    )
    await new Promise((resolve) => setTimeout(resolve, milliseconds))
    const asked = performance.now()
    abort.abort(new Error('enough'))
    expect(await answer).toBe('enough')
    return performance.now() - asked
  }

  it('BR-13: ends a run in the middle of a long prompt within 250 ms, and the slot can be used at once', async () => {
    expect(await soonest(() => giveUpAfter(400))).toBeLessThan(AT_ONCE)
    const used = await soonest(async () => {
      await giveUpAfter(400)
      const begun = performance.now()
      const { result } = await ask(model, completion('the', { maxTokens: 1 }))
      expect(result.usage.completionTokens).toBe(1)
      return performance.now() - begun
    }, 2000)
    expect(used).toBeLessThan(2000)
  })

  it('BR-13: holds up a run on another slot by pieces of the prompt, not by all of it', async () => {
    const waited = await soonest(async () => {
      const abort = new AbortController()
      const long = completion('the model and the server '.repeat(1200))
      const stream = model.run(long, { slot: 0, keptPrefix: 0, signal: abort.signal })
      const first = stream.next().catch((error: Error) => error.message)
      const begun = performance.now()
      await ask(model, completion('the', { maxTokens: 3 }), { slot: 1 })
      const took = performance.now() - begun
      abort.abort(new Error('enough'))
      expect(await first).toBe('enough')
      return took
    }, 3000)
    expect(waited).toBeLessThan(3000)
  })

  it('stops when the reader breaks out', async () => {
    const stream = model.run(completion('the', { maxTokens: 500 }), { slot: 1, keptPrefix: 0, signal: NEVER })
    for await (const part of stream) if (part.type === 'text') break
    const { lastProgress } = model
    await ask(model, completion('the', { maxTokens: 1 }), { slot: 1 })
    expect(model.lastProgress).toBeGreaterThanOrEqual(lastProgress ?? 0)
  })

  it('an aborted signal starts nothing', async () => {
    const before = model.lastProgress
    const stream = model.run(completion('the'), {
      slot: 0,
      keptPrefix: 0,
      signal: AbortSignal.abort(new Error('late')),
    })
    await expect(stream.next()).rejects.toThrow('late')
    expect(model.lastProgress).toBe(before)
  })

  it('leaves no listener on a long-lived signal (F14)', async () => {
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    for (let count = 0; count < 5; count++) {
      await ask(model, completion('the', { maxTokens: 2 }), { signal })
    }
    expect(added).toHaveBeenCalledTimes(5)
    expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
      added.mock.calls.map(([, listener]) => listener),
    )
  })

  it('an unload cuts what runs, with a clear error, and frees only then', async () => {
    const { path } = makeTinyModel(`${folder}/cut.gguf`)
    const other = await load(path, { slots: 2 })
    const streams = [0, 1].map(async (slot) =>
      read(other.run(completion('the'), { slot, keptPrefix: 0, signal: NEVER })),
    )
    const outcomes = Promise.allSettled(streams)
    await new Promise((resolve) => setTimeout(resolve, 50))
    await Promise.all([other.unload(), other.unload()])
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'run_cut' } })
    }
    await expect(other.ping()).rejects.toMatchObject({ code: 'worker_exited' })
  })
})
