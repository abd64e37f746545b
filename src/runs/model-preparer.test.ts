import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../base/errors.ts'
import type { Engine, LoadPlan } from '../engines/engine.ts'
import type { ModelFacts } from '../models/model-facts.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import type { PoolModel } from '../pool/pool-model.ts'
import { ModelPreparer, type PreparerSurroundings } from './model-preparer.ts'

const NEVER = new AbortController().signal

function spec(id: string, more: Partial<ModelSpec> = {}): ModelSpec {
  return { id, minInstances: 0, maxInstances: 1, keepAlive: 0, pinned: false, ...more } as ModelSpec
}

class Bench {
  readonly specs = new Map<string, ModelSpec>([['m', spec('m', { source: '/m.gguf' })]])
  readonly declared: PoolModel[] = []
  readonly fetched: string[] = []
  resident = false
  format: ModelFacts['format'] = 'gguf'
  readonly preparer: ModelPreparer

  constructor(more: Partial<PreparerSurroundings> = {}) {
    const engine = {
      name: 'e',
      plan: (of: ModelSpec) => ({ model: of.id, capabilities: { tasks: ['chat'] } }) as unknown as LoadPlan,
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
      inspect: async () => ({ format: this.format }) as ModelFacts,
      engines: new Map([['node-llama-cpp', engine as unknown as Engine]]),
      host: () => ({ cores: 2, memory: {} }),
      isResident: () => this.resident,
      declare: (model) => this.declared.push(model),
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
