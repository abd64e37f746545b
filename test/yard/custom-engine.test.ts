import { describe, expect, it } from 'vitest'
import {
  NO_CAPABILITIES,
  type Engine,
  type EngineCapabilities,
  type ExitReport,
  type LoadedModel,
  type LoadPlan,
  type RunOptions,
} from '../../src/engines/engine.ts'
import type { ModelInput } from '../../src/config/configuration-input.ts'
import type { ModelFacts } from '../../src/models/model-facts.ts'
import type { ModelSpec } from '../../src/models/model-spec.ts'
import { contentText } from '../../src/tasks/message.ts'
import type { PartStream } from '../../src/tasks/part.ts'
import type { Task } from '../../src/tasks/task.ts'
import type { Yard } from '../../src/yard.ts'
import { NO_USAGE } from '../../src/tasks/usage.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { AT_ONCE, soonest } from '../soonest.ts'
import { HAS_LLAMA, ownYards, TALKER, until, user } from './harness.ts'

const { open } = ownYards()

const CAPABILITIES: EngineCapabilities = { ...NO_CAPABILITIES, tasks: ['chat'] }

/** What somebody's own engine does with the last text of a user; `options` go to the calls of other models. */
type Answering = (
  text: string,
  signal: AbortSignal,
  options: Pick<RunOptions, 'within'>,
) => AsyncIterable<string>

/** An engine of somebody who uses the library: no weights, an answer that may come from other models of the same yard. */
class OwnEngine implements Engine {
  readonly name = 'own'
  readonly capabilities = CAPABILITIES
  readonly plans: LoadPlan[] = []
  readonly #answering: Answering

  constructor(answering: Answering) {
    this.#answering = answering
  }

  async detect(): Promise<{ available: true; version: string }> {
    return { available: true, version: '1' }
  }

  plan(spec: ModelSpec, facts: ModelFacts): LoadPlan {
    const footprint = { ram: { weights: 1000, context: 0, compute: 0, base: 0 } }
    return {
      engine: this.name,
      model: spec.id,
      key: `own ${spec.id} ${JSON.stringify(spec.engineOptions)}`,
      contextSize: 1000,
      slots: spec.slots,
      threads: 0,
      footprint,
      loadBytes: 1000,
      capabilities: CAPABILITIES,
      ...(spec.engineOptions['uses'] !== undefined && { uses: spec.engineOptions['uses'] as string[] }),
      spec,
      facts,
    }
  }

  async load(plan: LoadPlan): Promise<LoadedModel> {
    this.plans.push(plan)
    return new OwnModel(plan, this.#answering)
  }
}

class OwnModel implements LoadedModel {
  readonly plan: LoadPlan
  readonly exited: Promise<ExitReport>
  readonly #answering: Answering
  #leave: (report: ExitReport) => void = () => undefined

  constructor(plan: LoadPlan, answering: Answering) {
    this.plan = plan
    this.#answering = answering
    this.exited = new Promise((resolve) => {
      this.#leave = resolve
    })
  }

  async *run(task: Task, { signal, within }: RunOptions): PartStream {
    if (task.kind !== 'chat') throw new Error('only chats come here')
    yield { type: 'started', promptTokens: 1, cachedTokens: 0 }
    const asked = contentText(task.messages.at(-1)?.content ?? '')
    for await (const text of this.#answering(asked, signal, within === undefined ? {} : { within }))
      yield { type: 'text', text }
    // Calls of the library end early without an error: an engine says by itself that it was stopped.
    signal.throwIfAborted()
    return { finishReason: 'stop', usage: NO_USAGE, timings: { prefill: 0, decode: 0 } }
  }

  async countTokens(): Promise<number> {
    return 1
  }

  async warmUp(): Promise<void> {}

  async memory(): Promise<Record<string, never>> {
    return {}
  }

  async ping(): Promise<void> {}

  async unload(): Promise<void> {
    this.#leave({ expected: true, reason: 'it was unloaded.', logTail: [] })
    await this.exited
  }
}

describe('P14: an engine of one’s own', () => {
  it('is named in the configuration like the built-in ones, and gets its own options', async () => {
    const engine = new OwnEngine(async function* (text) {
      yield `You said: `
      yield text
    })
    const yard = await open({
      engines: [engine],
      models: { mine: { engine: 'own', colour: 'blue', slots: 2 } },
    })
    expect(await yard.chat({ model: 'mine', messages: [user('hi')] }).text()).toBe('You said: hi')
    expect(engine.plans[0]).toMatchObject({ slots: 2, spec: { engineOptions: { colour: 'blue' } } })
    expect(yard.state().instances).toMatchObject([{ model: 'mine', booked: { ram: 1000 } }])
    const refused = yard.embed({ model: 'mine', input: 'x' })
    await expect(refused).rejects.toMatchObject({ code: 'unsupported' })
  })

  it.runIf(HAS_LLAMA)('may ask other models of the yard within its run (caption → chat)', async () => {
    let yard: Yard
    const engine = new OwnEngine(async function* (text, signal) {
      yield 'Asked: '
      yield* yard.chat({ model: 'tiny', messages: [user(text)], temperature: 0, signal }).textParts()
    })
    yard = await open({
      engines: [engine],
      models: { mine: { engine: 'own' }, tiny: { file: TINY_CHAT, context: 512 } },
    })
    const asked = ['hi', 'Count.', 'hi', 'Count.'].map((text) =>
      yard.chat({ model: 'mine', messages: [user(text)] }).text(),
    )
    const [greeting, counting] = [
      'Asked: Hello, how are you today?',
      'Asked: one two three four five six seven eight nine ten',
    ]
    expect(await Promise.all(asked)).toEqual([greeting, counting, greeting, counting])
    expect(yard.state()).toMatchObject({ runs: { active: 0 }, queue: [] })
  })

  it('a lease it takes ends with its own run when the caller leaves', async () => {
    let yard: Yard
    const engine = new OwnEngine(async function* (_, signal) {
      yield* yard.chat({ model: 'talker', messages: [user('for ever')], signal }).textParts()
    })
    yard = await open({ engines: [engine], models: { mine: { engine: 'own' }, talker: TALKER } })
    const took = await soonest(async () => {
      const controller = new AbortController()
      const answer = yard.chat({ model: 'mine', messages: [user('x')], signal: controller.signal }).answer()
      await until(() => yard.state().runs.active === 2)
      controller.abort()
      expect((await answer).result.finishReason).toBe('abort')
      return await until(() => yard.state().runs.active === 0)
    })
    expect(took).toBeLessThan(AT_ONCE)
  })

  it('a fault of the engine is told as such and leaves the slot free (F5)', async () => {
    // oxlint-disable-next-line require-yield -- it fails before its first text
    const engine = new OwnEngine(async function* () {
      throw new TypeError('something of mine is undefined')
    })
    const yard = await open({ engines: [engine], models: { mine: { engine: 'own' } } })
    const answer = yard.chat({ model: 'mine', messages: [user('x')] }).text()
    await expect(answer).rejects.toMatchObject({ code: 'engine_failed' })
    expect(yard.state()).toMatchObject({ runs: { active: 0 }, instances: [{ leases: 0, state: 'ready' }] })
  })

  describe('that declares what it uses', () => {
    const part = {
      engine: 'scripted',
      memory: '100MiB',
      slots: 1,
      script: [{ text: 'one two three', delay: 20 }],
    } as const

    /** Asks the model "chat", and says what it says. */
    function captioner(yard: () => Yard): OwnEngine {
      return new OwnEngine(async function* (text, signal, options) {
        yield* yard()
          .chat({ model: 'chat', messages: [user(text)], signal, ...options })
          .textParts()
      })
    }

    it('all places are taken by runs that ask: they get what they ask for, without a deadlock', async () => {
      const yard: Yard = await open({
        engines: [captioner(() => yard)],
        limits: { concurrency: 2 },
        memory: { budget: '101MiB' },
        models: {
          caption: { engine: 'own', uses: ['talker'], slots: 2 },
          chat: { ...part, aliases: 'talker' },
        },
      })
      const asked = Array.from({ length: 6 }, () =>
        yard.chat({ model: 'caption', messages: [user('x')] }).text(),
      )
      expect(await Promise.all(asked)).toEqual(Array.from({ length: 6 }, () => 'one two three'))
      expect(yard.state()).toMatchObject({ runs: { active: 0 }, queue: [] })
      expect((await yard.plan('caption')).outcome).toBe('resident')
    })

    it('what it uses makes others go, never its own instance', async () => {
      const yard: Yard = await open({
        engines: [captioner(() => yard)],
        memory: { budget: '150MiB' },
        models: { caption: { engine: 'own', uses: ['chat'] }, chat: part, other: part },
      })
      const say = (model: string): Promise<string> => yard.chat({ model, messages: [user('x')] }).text()
      for (const model of ['caption', 'other', 'caption']) expect(await say(model)).toBe('one two three')
      expect(yard.state().models.map(({ id, loads }) => [id, loads])).toEqual([
        ['caption', 1],
        ['chat', 2],
        ['other', 1],
      ])
    })

    it('is refused at once when they can never fit together', async () => {
      const engine = captioner(() => yard)
      const yard: Yard = await open({
        engines: [engine],
        memory: { budget: '100MiB' },
        models: { caption: { engine: 'own', uses: ['chat'] }, chat: part },
      })
      const answer = yard.chat({ model: 'caption', messages: [user('x')] }).text()
      await expect(answer).rejects.toMatchObject({
        code: 'model_too_large',
        message: expect.stringContaining('with what it uses (chat)') as string,
      })
      expect(engine.plans).toEqual([])
    })

    it('cannot use itself, nor a model that nobody knows', async () => {
      const own = (uses: string): ModelInput => ({ engine: 'own', uses: [uses] })
      const yard = await open({
        engines: [captioner(() => yard)],
        models: { a: own('b'), b: own('a'), c: own('chad'), chat: part },
      })
      const ask = (model: string): Promise<string> => yard.chat({ model, messages: [user('x')] }).text()
      const [a, b] = await Promise.allSettled([ask('a'), ask('b')])
      const cycle = {
        code: 'config_invalid',
        message: '"a" uses "b" uses "a": a model cannot use itself, not even by way of others.',
      }
      expect(a).toMatchObject({ reason: cycle })
      expect(b).toMatchObject({ reason: { code: 'config_invalid' } })
      await expect(ask('c')).rejects.toMatchObject({ code: 'model_not_found' })
    })
  })
})
