import { expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import type {
  LlamaContext,
  LlamaContextOptions,
  LlamaModel,
} from '../../src/engines/node-llama-cpp/llama-module.ts'
import { llamaRuntime } from '../../src/engines/node-llama-cpp/llama-runtime.ts'
import { loadModel } from '../../src/engines/node-llama-cpp/load-model.ts'
import type { TextModel } from '../../src/engines/node-llama-cpp/text-model.ts'
import { ENGINES_DIRECTORY, TINY_CHAT } from '../models/paths.ts'
import { ask, completion, factsOf, engine, HOST, NEVER, specOf } from './fixtures.ts'

/** What the library can be asked, and is not used otherwise. */
type ToldContext = LlamaContext & { readonly idealThreads: number }

const LONG = completion('a long prompt of many words '.repeat(12), { maxTokens: 2 })

it('R17: the real context takes all cores for pieces of prompts while it computes alone, and its own threads for the rest', async () => {
  const runtime = await llamaRuntime(ENGINES_DIRECTORY, false)
  const { llama } = runtime
  const contexts: ToldContext[] = []
  const noting = (model: LlamaModel): LlamaModel => {
    const create = model.createContext.bind(model)
    model.createContext = async (options: LlamaContextOptions) => {
      const context = await create(options)
      contexts.push(context as ToldContext)
      return context
    }
    return model
  }
  const limits: number[] = []
  const watched = Object.create(llama, {
    loadModel: {
      value: async (...args: Parameters<typeof llama.loadModel>) => noting(await llama.loadModel(...args)),
    },
    maxThreads: {
      get: () => llama.maxThreads,
      set: (value: number) => {
        limits.push(value)
        llama.maxThreads = value
      },
    },
  }) as typeof llama
  const spec = specOf({ isolation: 'worker', device: { gpu: false, memoryLock: false } })
  const plan = engine.plan(spec, await factsOf(TINY_CHAT), { ...HOST, cores: 2 })
  expect([plan.threads, plan.promptThreads]).toEqual([1, 2])
  const model = (await loadModel(plan, {
    runtime: { ...runtime, llama: watched },
    version: runtime.version,
    clock: new SystemClock(),
    signal: NEVER,
    onProgress: () => undefined,
  })) as TextModel
  try {
    expect(contexts.map(({ idealThreads }) => idealThreads)).toEqual([2])
    await model.warmUp(NEVER)
    limits.length = 0
    await ask(model, LONG)
    expect(Math.max(...limits)).toBe(2)
    expect(llama.maxThreads).toBe(1)
    model.shareCores(false)
    limits.length = 0
    await ask(model, LONG)
    expect(limits).toEqual([])
  } finally {
    await model.unload()
  }
})
