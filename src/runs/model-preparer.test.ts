import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../base/errors.ts'
import type { Engine, LoadPlan } from '../engines/engine.ts'
import type { ModelFacts } from '../models/model-facts.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import type { PoolModel } from '../pool/pool-model.ts'
import { ModelPreparer, type PreparerSurroundings } from './model-preparer.ts'

const NEVER = new AbortController().signal

function spec(id: string, more: Partial<ModelSpec> = {}): ModelSpec {
  return { id, slots: 2, minInstances: 0, maxInstances: 1, keepAlive: 0, pinned: false, ...more } as ModelSpec
}

class Bench {
  readonly specs = new Map<string, ModelSpec>([['m', spec('m', { source: '/m.gguf' })]])
  readonly declared: PoolModel[] = []
  readonly fetched: string[] = []
  resident = false
  format: ModelFacts['format'] = 'gguf'
  /** Tokens the model was trained for. */
  trained = 32_768
  refusal: ModelyardError | undefined
  readonly preparer: ModelPreparer

  constructor(more: Partial<PreparerSurroundings> = {}) {
    const engine = {
      name: 'e',
      plan: ({ id: model, context: contextSize = 4096, slots }: ModelSpec) =>
        ({ model, contextSize, slots, capabilities: { tasks: ['chat'] } }) as unknown as LoadPlan,
    }
    this.preparer = new ModelPreparer({
      resolve: (name) => {
        const found = this.specs.get(name)
        if (found === undefined) throw new ModelyardError('model_not_found', name)
        return found
      },
      artifact: async ({ source }) => {
        this.fetched.push(source ?? '-')
        return source
      },
      inspect: async () => ({ format: this.format, gguf: { contextLength: this.trained } }) as ModelFacts,
      engines: new Map([['node-llama-cpp', engine as unknown as Engine]]),
      host: () => ({ cores: 2, memory: {} }),
      isResident: () => this.resident,
      declare: (model) => this.declared.push(model),
      refusalOf: () => this.refusal,
      ...more,
    })
  }
}

describe('ModelPreparer', () => {
  it('declares a model to the pool once for many who ask at the same time', async () => {
    const bench = new Bench()
    await Promise.all([bench.preparer.prepare('m', NEVER), bench.preparer.prepare('m', NEVER)])
    expect(bench.declared).toHaveLength(1)
    expect(bench.declared[0]).toMatchObject({ id: 'm', keepAlive: 0, minInstances: 0 })
  })

  it('looks at the files again when nothing of the model is in memory, and not while something is (BR-26)', async () => {
    const bench = new Bench()
    await bench.preparer.prepare('m', NEVER)
    await bench.preparer.prepare('m', NEVER)
    expect(bench.fetched).toHaveLength(2)
    bench.resident = true
    expect(bench.preparer.prepare('m', NEVER)).not.toBeInstanceOf(Promise)
    expect(bench.fetched).toHaveLength(2)
  })

  it('prepares anew when the configuration gave the model another spec', async () => {
    const bench = new Bench()
    await bench.preparer.prepare('m', NEVER)
    bench.resident = true
    bench.specs.set('m', spec('m', { source: '/other.gguf' }))
    await bench.preparer.prepare('m', NEVER)
    expect(bench.fetched).toEqual(['/m.gguf', '/other.gguf'])
  })

  it('a caller that leaves during a download ends it when nobody else waits', async () => {
    const controller = new AbortController()
    let seen: AbortSignal | undefined
    const bench = new Bench({
      artifact: async (_, signal) => {
        seen = signal
        return new Promise(() => undefined)
      },
    })
    const waiting = bench.preparer.prepare('m', controller.signal)
    controller.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
    expect(seen?.aborted).toBe(true)
  })

  it('an engine nobody knows is refused with the nearest name', async () => {
    const bench = new Bench()
    bench.specs.set('m', spec('m', { engine: 'node-lama-cpp' }))
    await expect(bench.preparer.prepare('m', NEVER)).rejects.toThrow('Did you mean "node-llama-cpp"?')
  })
})

describe('a wish for more than is configured (M3)', () => {
  const shapes = ({ declared }: Bench): number[][] =>
    declared.map(({ plan }) => [plan.slots, plan.contextSize])
  const wish = (context: number, slots?: number): { wish: { context: number; slots?: number } } => ({
    wish: { context, ...(slots !== undefined && { slots }) },
  })

  async function loaded(): Promise<Bench> {
    const bench = new Bench()
    await bench.preparer.prepare('m', NEVER)
    bench.resident = true
    return bench
  }

  it('that the copy covers costs a look-up', async () => {
    const bench = await loaded()
    expect(bench.preparer.prepare('m', NEVER, wish(4096, 1))).not.toBeInstanceOf(Promise)
  })

  it('has the model declared anew, and a smaller one after it uses that', async () => {
    const bench = await loaded()
    await bench.preparer.prepare('m', NEVER, wish(16_384))
    await bench.preparer.prepare('m', NEVER, wish(8192))
    await bench.preparer.prepare('m', NEVER)
    await bench.preparer.prepare('m', NEVER, wish(1, 3))
    expect(shapes(bench)).toEqual([
      [2, 4096],
      [2, 16_384],
      [3, 16_384],
    ])
  })

  it('lasts while a copy is there: the next one is as configured', async () => {
    const bench = await loaded()
    await bench.preparer.prepare('m', NEVER, wish(16_384))
    bench.resident = false
    await bench.preparer.prepare('m', NEVER)
    // The one that makes way for the larger one is not the end of the wish.
    bench.preparer.wishes.noteUnloaded('m')
    await bench.preparer.prepare('m', NEVER)
    bench.preparer.wishes.noteReady('m')
    bench.preparer.wishes.noteUnloaded('m')
    await bench.preparer.prepare('m', NEVER)
    expect(shapes(bench).map(([, context]) => context)).toEqual([4096, 16_384, 16_384, 16_384, 4096])
  })

  it('is taken for what the model was trained for where it is more', async () => {
    const bench = await loaded()
    await bench.preparer.prepare('m', NEVER, wish(1_000_000))
    expect(bench.preparer.prepare('m', NEVER, wish(1_000_000))).not.toBeInstanceOf(Promise)
    expect(shapes(bench).at(-1)).toEqual([2, 32_768])
  })

  it('that can never fit is refused while the copy stays as it is (R6)', async () => {
    const bench = await loaded()
    bench.refusal = new ModelyardError('model_too_large', 'Too large.')
    const refused = bench.preparer.prepare('m', NEVER, wish(16_384))
    await expect(refused).rejects.toMatchObject({ code: 'model_too_large' })
    expect(shapes(bench)).toEqual([[2, 4096]])
    expect(bench.preparer.prepare('m', NEVER)).not.toBeInstanceOf(Promise)
  })

  it('that the engine has no plan for is refused with both numbers', async () => {
    const plan = (): LoadPlan => ({ model: 'm', contextSize: 512, slots: 1 }) as LoadPlan
    const engines = new Map([['node-llama-cpp', { name: 'e', plan } as unknown as Engine]])
    const { preparer } = new Bench({ engines })
    await expect(preparer.prepare('m', NEVER, wish(2048))).rejects.toMatchObject({
      code: 'invalid_request',
      details: { param: 'context' },
      message: '"m" has 1 slots of 512 tokens here, and its engine cannot give it 1 of 2048.',
    })
  })
})
