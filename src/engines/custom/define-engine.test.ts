import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../../base/errors.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { Part, Result } from '../../tasks/part.ts'
import type { AskModel, Engine, LoadedModel, RunOptions } from '../engine.ts'
import { defineEngine } from './define-engine.ts'
import type { CustomBody, EngineDefinition } from './engine-definition.ts'

const SPEC: ModelSpec = {
  id: 'mine',
  engine: 'own',
  slots: 2,
  minInstances: 0,
  maxInstances: 1,
  keepAlive: -1,
  pinned: false,
  prepare: 'on-demand',
  isolation: 'none',
  device: { gpu: false, memoryLock: false },
  aliases: [],
  defaults: {},
  engineOptions: { part: 'other' },
}
const NO_FILES = { format: 'none', fileSize: 0, contentId: '', purpose: 'generation' } as const
const CHAT: ChatTask = { kind: 'chat', messages: [{ role: 'user', content: 'hi' }], sampling: {}, stop: [] }

function engineOf(
  run: CustomBody['run'],
  more: Partial<EngineDefinition<Readonly<Record<string, unknown>>>> = {},
): Engine {
  return defineEngine({ name: 'own', tasks: ['chat'], load: () => ({ run }), ...more })
}

async function loaded(engine: Engine, ask?: AskModel): Promise<LoadedModel> {
  const plan = engine.plan(SPEC, NO_FILES, { cores: 1, memory: {} })
  const options = { signal: new AbortController().signal, onProgress: () => undefined }
  return await engine.load(plan, ask === undefined ? options : { ...options, ask })
}

async function outcome(
  model: LoadedModel,
  task: ChatTask = CHAT,
  options: Partial<RunOptions> = {},
): Promise<{ parts: Part[]; result: Result }> {
  const stream = model.run(task, { slot: 0, keptPrefix: 0, signal: new AbortController().signal, ...options })
  const parts: Part[] = []
  for (;;) {
    const step = await stream.next()
    if (step.done === true) return { parts, result: step.value }
    parts.push(step.value)
  }
}

describe('defineEngine', () => {
  it('counts pieces as tokens and puts what was held for a stop string out at the end', async () => {
    const model = await loaded(
      engineOf(async function* () {
        yield 'one'
        yield { type: 'reasoning', text: 'hm' }
        yield ' two'
      }),
    )
    const { parts, result } = await outcome(model, { ...CHAT, stop: [' twofold'] })
    expect(parts).toEqual([
      { type: 'started', promptTokens: 2, cachedTokens: 0 },
      { type: 'text', text: 'one' },
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: ' two' },
    ])
    expect(result).toMatchObject({
      finishReason: 'stop',
      usage: { promptTokens: 2, completionTokens: 3, reasoningTokens: 1 },
    })
  })

  it('ends with the calls of tools, or as the engine says', async () => {
    const calls = engineOf(async function* () {
      yield { type: 'tool-call', index: 0, id: 'c1', name: 'f' }
      yield { type: 'tool-call-arguments', index: 0, text: '{}' }
    })
    expect((await outcome(await loaded(calls))).result.finishReason).toBe('tool-calls')
    const says = engineOf(async function* () {
      yield 'x'
      return { finishReason: 'length', completionTokens: 0 }
    })
    expect((await outcome(await loaded(says))).result).toMatchObject({
      finishReason: 'length',
      usage: { completionTokens: 0 },
    })
  })

  it('ends a run whose engine does not mind its signal', async () => {
    const model = await loaded(
      // oxlint-disable-next-line require-yield -- it never says a word
      engineOf(async function* () {
        await new Promise(() => undefined)
      }),
    )
    const controller = new AbortController()
    const running = outcome(model, CHAT, { signal: controller.signal })
    controller.abort(new ModelyardError('aborted', 'gone'))
    await expect(running).rejects.toThrow('gone')
    const cut = outcome(model)
    await model.unload()
    await expect(cut).rejects.toMatchObject({ code: 'run_cut' })
  })

  it('tells its faults as faults of the engine, and errors of another copy of the package as what they are', async () => {
    const faulty = engineOf(async function* () {
      yield 'x'
      throw new TypeError('undefined is not a function')
    })
    await expect(outcome(await loaded(faulty))).rejects.toMatchObject({
      code: 'engine_failed',
      message: 'The engine "own" failed: undefined is not a function',
    })
    class ForeignError extends Error {
      override readonly name = 'ModelyardError'
      toJSON(): object {
        return { code: 'invalid_request', message: 'no', details: { param: 'x' } }
      }
    }
    // oxlint-disable-next-line require-yield -- it refuses
    const foreign = engineOf(async function* () {
      throw new ForeignError()
    })
    await expect(outcome(await loaded(foreign))).rejects.toMatchObject({
      code: 'invalid_request',
      details: { param: 'x' },
    })
  })

  it.each<[string, unknown]>([
    ['null', null],
    ['a number', 42],
    ['a part of a kind that nobody knows', { type: 'nonsense' }],
    ['a name that objects have', { type: 'constructor' }],
    ['a text that is none', { type: 'text', text: 42 }],
    ['a call with a number beyond all counting', { type: 'tool-call', index: 4e9, id: 'c', name: 'f' }],
    ['its beginning, which is said for it', { type: 'started', promptTokens: -1, cachedTokens: 0 }],
  ])('fails by its own name when it writes %s', async (_, piece) => {
    const engine = engineOf(async function* () {
      yield piece as string
    })
    await expect(outcome(await loaded(engine))).rejects.toMatchObject({
      code: 'engine_failed',
      message: expect.stringMatching(/^The engine "own" failed: it wrote .+\.$/) as string,
    })
  })

  it.each<[string, unknown]>([
    ['a promise', Promise.resolve('text')],
    ['a list', ['text']],
    ['nothing', undefined],
  ])('says what its run must be when it returns %s', async (_, returned) => {
    const engine = engineOf((() => returned) as unknown as CustomBody['run'])
    await expect(outcome(await loaded(engine))).rejects.toThrow('its "run" must be an async generator')
  })

  it('takes an iterator that has no end of its own', async () => {
    const steps = [{ done: false, value: 'x' }, { done: true }]
    const engine = engineOf((() => ({ next: async () => steps.shift() })) as unknown as CustomBody['run'])
    expect((await outcome(await loaded(engine))).parts).toContainEqual({ type: 'text', text: 'x' })
  })

  it.each<[string, unknown]>([
    ['an end that is none', { finishReason: 'banana' }],
    ['counts that are none', { completionTokens: Number.NaN }],
  ])('fails when it returns %s', async (_, end) => {
    const engine = engineOf(async function* () {
      yield 'x'
      return end as object
    })
    await expect(outcome(await loaded(engine))).rejects.toMatchObject({ code: 'engine_failed' })
  })

  it('is not loaded when its load gives nothing that runs', async () => {
    for (const body of [undefined, null, {}] as unknown[]) {
      const engine = engineOf(async function* () {}, { load: () => body as CustomBody })
      await expect(loaded(engine)).rejects.toMatchObject({
        code: 'model_load_failed',
        message: expect.stringContaining('must return an object with a function "run"') as string,
      })
    }
  })

  it('puts no counts and no bytes into the ledger that are none', async () => {
    const run: CustomBody['run'] = async function* () {}
    for (const garbage of [Number.NaN, -1, Infinity, 'lots', 1.5]) {
      const measured = { ram: { private: garbage as number, shared: 0 } }
      const body: CustomBody = { run, countTokens: () => garbage as number, memory: () => measured }
      const model = await loaded(engineOf(run, { load: () => body }))
      await expect(model.countTokens(CHAT)).rejects.toMatchObject({ code: 'engine_failed' })
      await expect(model.memory()).rejects.toMatchObject({ code: 'engine_failed' })
      const declared = engineOf(run, { memory: () => garbage as number })
      await expect(loaded(declared)).rejects.toMatchObject({ code: 'config_invalid' })
    }
    expect(await (await loaded(engineOf(run, { memory: () => 0 }))).memory()).toEqual({
      ram: { private: 0, shared: 0 },
    })
  })

  it('asks only models that it says it uses, and nobody outside of a yard', async () => {
    const engine = engineOf(
      async function* (_, { models }) {
        yield* models.chat('other', { messages: [{ role: 'user', content: 'hi' }] })
      },
      { uses: ({ options }) => [options['part'] as string] },
    )
    const asked: unknown[] = []
    const ask: AskModel = async function* ({ model, within }) {
      asked.push(model, within)
      yield { type: 'text', text: 'from other' }
      return {
        finishReason: 'stop',
        usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
        timings: { prefill: 0, decode: 0 },
      }
    }
    const within = { instance: 'mine#1' }
    const { parts } = await outcome(await loaded(engine, ask), CHAT, { within })
    expect(parts.at(-1)).toEqual({ type: 'text', text: 'from other' })
    expect(asked).toEqual(['other', within])
    await expect(outcome(await loaded(engine))).rejects.toMatchObject({ code: 'unsupported' })
    const sly = engineOf(async function* (_, { models }) {
      yield* models.chat('other', { messages: [] })
    })
    await expect(outcome(await loaded(sly, ask), CHAT, { within })).rejects.toMatchObject({
      code: 'config_invalid',
      message: 'Model "mine" asks for "other", which its engine "own" does not name in "uses"; add it there.',
    })
  })

  it('tells what is wrong with a model’s options, a load and a definition', async () => {
    const body = async function* (): AsyncGenerator<string, void, void> {
      yield 'x'
    }
    const options = (): never => {
      throw new Error('part must be a number.')
    }
    expect(() => engineOf(body, { options }).plan(SPEC, NO_FILES, { cores: 1, memory: {} })).toThrow(
      'model "mine" (engine "own"): part must be a number.',
    )
    const failing = defineEngine({
      name: 'own',
      tasks: ['chat'],
      load: () => Promise.reject(new Error('no disk')),
    })
    await expect(loaded(failing)).rejects.toMatchObject({
      code: 'model_load_failed',
      message: '"mine" could not be loaded: The engine "own" failed: no disk',
      details: { failure: 'crash' },
    })
    expect(() => engineOf(body, { name: 'my engine' })).toThrow('"name" must be letters')
    expect(() => engineOf(body, { tasks: [] })).toThrow('"tasks" must be a list of at least one')
  })

  it('books what is declared, zero included, per domain', () => {
    const plan = (memory: EngineDefinition<object>['memory']): object =>
      defineEngine({
        name: 'own',
        tasks: ['chat'],
        load: () => {
          throw new Error('never')
        },
        ...(memory !== undefined && { memory }),
      }).plan(SPEC, NO_FILES, { cores: 1, memory: {} }).footprint
    const terms = (weights: number): object => ({ weights, context: 0, compute: 0, base: 0 })
    expect(plan(undefined)).toEqual({ ram: terms(0) })
    expect(plan(() => ({ ram: 5, 'gpu:0': 7 }))).toEqual({ ram: terms(5), 'gpu:0': terms(7) })
  })
})
