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
import type { ModelFacts } from '../../src/models/model-facts.ts'
import type { ModelSpec } from '../../src/models/model-spec.ts'
import { contentText } from '../../src/tasks/message.ts'
import type { PartStream } from '../../src/tasks/part.ts'
import type { Task } from '../../src/tasks/task.ts'
import type { Yard } from '../../src/yard.ts'
import { NO_USAGE } from '../../src/tasks/usage.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { HAS_LLAMA, ownYards, TALKER, until, user } from './harness.ts'

const { open } = ownYards()

const CAPABILITIES: EngineCapabilities = { ...NO_CAPABILITIES, tasks: ['chat'] }

/** What somebody's own engine does with the last text of a user, given the yard it runs in. */
type Answering = (text: string, signal: AbortSignal) => AsyncIterable<string>

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

  async *run(task: Task, { signal }: RunOptions): PartStream {
    if (task.kind !== 'chat') throw new Error('only chats come here')
    yield { type: 'started', promptTokens: 1, cachedTokens: 0 }
    const asked = contentText(task.messages.at(-1)?.content ?? '')
    for await (const text of this.#answering(asked, signal)) yield { type: 'text', text }
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
    const controller = new AbortController()
    const answer = yard.chat({ model: 'mine', messages: [user('x')], signal: controller.signal }).answer()
    await until(() => yard.state().runs.active === 2)
    controller.abort()
    expect((await answer).result.finishReason).toBe('abort')
    expect(await until(() => yard.state().runs.active === 0)).toBeLessThan(1000)
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
})
