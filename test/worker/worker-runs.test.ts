import { getEventListeners } from 'node:events'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sleep, SystemClock } from '../../src/base/clock.ts'
import { ModelyardError } from '../../src/base/errors.ts'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { heldMemory } from '../held-memory.ts'
import { AT_ONCE, soonest } from '../soonest.ts'
import { collect, createWorkerEngine, load, order } from './worker-fixtures.ts'

const clock = new SystemClock()
const opened: LoadedModel[] = []

async function open(options: Record<string, unknown> = {}, deadlines = {}): Promise<LoadedModel> {
  const model = await load(createWorkerEngine({ deadlines }), options)
  opened.push(model)
  return model
}

function never(): AbortSignal {
  return new AbortController().signal
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((model) => model.unload()))
})

describe('a run through a worker', () => {
  let model: LoadedModel
  beforeAll(async () => {
    model = await load(createWorkerEngine())
    return () => model.unload()
  })

  it('gives the parts, the slot, the kept prefix and the result as the engine made them', async () => {
    const { parts, text, result } = await collect(model, { parts: 3 }, { slot: 2, keptPrefix: 7 })
    expect(parts[0]).toEqual({ type: 'started', promptTokens: 1, cachedTokens: 7 })
    expect(text).toBe('0 1 2 ')
    expect(result).toMatchObject({
      finishReason: 'stop',
      stopSequence: 'slot 2',
      usage: { completionTokens: 3 },
    })
  })

  it('carries vectors as Float32Array, to the last bit', async () => {
    const { parts } = await collect(model, { vector: [0.1, -1e-7, 3] })
    expect(parts[1]).toEqual({ type: 'vector', index: 0, vector: Float32Array.from([0.1, -1e-7, 3]) })
  })

  it('throws the error of the engine, before the first part where the engine does', async () => {
    const stream = model.run(order({ refuse: true }), { slot: 0, keptPrefix: 0, signal: never() })
    await expect(stream.next()).rejects.toMatchObject({ code: 'engine_failed', message: 'refused' })
  })

  it('joins texts that queue up, so that 50,000 tiny parts take less than 2 s', async () => {
    const took = await soonest(async () => {
      const started = clock.now()
      const { parts, text } = await collect(model, { parts: 50_000, text: 'ab' })
      expect(text).toBe('ab'.repeat(50_000))
      expect(parts.length).toBeLessThan(25_000)
      return clock.now() - started
    }, 2000)
    expect(took).toBeLessThan(2000)
  })

  it('keeps four runs at once apart', async () => {
    const texts = await Promise.all(
      ['a', 'b', 'c', 'd'].map(
        async (text, slot) => (await collect(model, { parts: 500, text }, { slot })).text,
      ),
    )
    expect(texts).toEqual(['a', 'b', 'c', 'd'].map((text) => text.repeat(500)))
  })

  it('pauses in the worker when the reader is slow (P16), and goes on when it reads again', async () => {
    const before = await model.countTokens(order({ count: 'made' }))
    const stream = model.run(order({ parts: 5000 }), { slot: 0, keptPrefix: 0, signal: never() })
    await stream.next()
    const made = async (): Promise<number> => (await model.countTokens(order({ count: 'made' }))) - before
    await expect.poll(made).toBeGreaterThan(100)
    // It would have made all of them by then.
    await sleep(clock, 300)
    expect(await made()).toBeLessThanOrEqual(320)
    let step = await stream.next()
    while (step.done !== true) step = await stream.next()
    expect(step.value.usage.completionTokens).toBe(5000)
  })

  it('counts tokens, warms up, answers pings and tells what its process tree holds (M12)', async () => {
    expect(await model.countTokens(order({}))).toBe(2)
    await model.warmUp(never())
    await model.ping()
    const { ram } = await model.memory()
    expect(ram?.private).toBeGreaterThan(3e6)
    expect(ram?.private).toBeLessThan(200e6)
  })

  it('tells when it last moved, on our clock', async () => {
    const before = clock.now()
    await collect(model, { parts: 1 })
    expect(model.lastProgress).toBeGreaterThanOrEqual(before)
    expect(model.lastProgress).toBeLessThanOrEqual(clock.now())
  })
})

describe('an abort', () => {
  it('ends the run within 250 ms with the reason of the signal, and frees the slot in the worker', async () => {
    const model = await open()
    const took = await soonest(async () => {
      const abort = new AbortController()
      const running = collect(model, { hang: true }, { signal: abort.signal })
      await sleep(clock, 50)
      const aborted = clock.now()
      abort.abort(new ModelyardError('timeout', 'too slow'))
      await expect(running).rejects.toMatchObject({ code: 'timeout' })
      return clock.now() - aborted
    })
    expect(took).toBeLessThan(AT_ONCE)
    expect(await model.countTokens(order({ count: 'active' }))).toBe(0)
  })

  it('before the start sends nothing', async () => {
    const model = await open()
    const stream = model.run(order({}), { slot: 0, keptPrefix: 0, signal: AbortSignal.abort() })
    await expect(stream.next()).rejects.toMatchObject({ code: 'aborted' })
  })

  it('reaches a run whose reader has stopped reading', async () => {
    const model = await open()
    const abort = new AbortController()
    const stream = model.run(order({ parts: 1e9 }), { slot: 0, keptPrefix: 0, signal: abort.signal })
    await stream.next()
    await sleep(clock, 100)
    abort.abort()
    await expect.poll(() => model.countTokens(order({ count: 'active' }))).toBe(0)
    await expect(stream.next()).rejects.toMatchObject({ code: 'aborted' })
  })

  it('is what breaking out of the loop means', async () => {
    const model = await open()
    for await (const part of model.run(order({ hang: true }), { slot: 0, keptPrefix: 0, signal: never() })) {
      expect(part.type).toBe('started')
      break
    }
    expect(await model.countTokens(order({ count: 'active' }))).toBe(0)
  })

  it('holds the slot until the worker is off it: a run that does not obey ends the worker after the deadline (R12)', async () => {
    const model = await open({}, { abort: 600 })
    const abort = new AbortController()
    const running = collect(model, { hang: true, ignoreAbort: true }, { signal: abort.signal })
    await sleep(clock, 50)
    const aborted = clock.now()
    abort.abort()
    await expect(running).rejects.toMatchObject({ code: 'aborted' })
    expect(clock.now() - aborted).toBeGreaterThanOrEqual(550)
    const exit = await model.exited
    expect(exit).toMatchObject({ expected: false })
    expect(exit.reason).toContain('did not end an aborted run within 600 ms')
  })

  it('of a question rejects at once', async () => {
    const model = await open()
    const abort = new AbortController()
    const counting = model.countTokens(order({ sleep: 60_000 }), abort.signal)
    abort.abort()
    await expect(counting).rejects.toMatchObject({ code: 'aborted' })
    await model.ping()
  })
})

describe('a worker that stops working', () => {
  it('is ended when it answers no ping while it has work, and says so', async () => {
    const model = await open({}, { silence: 2000 })
    const running = collect(model, { parts: 2, blockAt: 1, block: 60_000 })
    await expect(running).rejects.toMatchObject({ code: 'worker_exited' })
    expect((await model.exited).reason).toMatch(/did not answer for 2 s while it had work/)
  })

  it('is ended when it answers but a run makes no progress', async () => {
    const model = await open({}, { stall: 2000 })
    await expect(collect(model, { hang: true })).rejects.toMatchObject({ code: 'worker_exited' })
    expect((await model.exited).reason).toMatch(/made no progress for 2 s/)
  })

  it('is not meant by one that answers question after question', async () => {
    const model = await open({}, { stall: 3000 })
    const ask = async (): Promise<void> => {
      for (let round = 0; round < 10; round++) await model.countTokens(order({ sleep: 400 }))
    }
    const later = sleep(clock, 200).then(ask)
    await ask()
    await later
    await expect(model.ping()).resolves.toBeUndefined()
  })

  it('is left alone while a slow reader holds things up', async () => {
    const model = await open({}, { stall: 3000, silence: 3000 })
    const stream = model.run(order({ parts: 600 }), { slot: 0, keptPrefix: 0, signal: never() })
    await stream.next()
    await sleep(clock, 4000)
    let step = await stream.next()
    while (step.done !== true) step = await stream.next()
    expect(step.value.usage.completionTokens).toBe(600)
  })
})

describe('a long life', () => {
  it('leaves no listener, no pending entry and no memory behind after 1,000 runs', async () => {
    const model = await open()
    const { signal } = new AbortController()
    const run = async (): Promise<void> => {
      await collect(model, { parts: 20 }, { signal })
      await model.countTokens(order({}), signal)
    }
    for (let round = 0; round < 200; round++) await run()
    const before = { heap: heldMemory(), ram: (await model.memory()).ram?.private ?? 0 }
    for (let round = 0; round < 1000; round++) await run()
    expect(getEventListeners(signal, 'abort')).toEqual([])
    expect(heldMemory() - before.heap).toBeLessThan(8e6)
    expect(((await model.memory()).ram?.private ?? 0) - before.ram).toBeLessThan(40e6)
    expect(await model.countTokens(order({ count: 'active' }))).toBe(0)
  })
})
