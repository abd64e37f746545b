import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import type { LoadedModel, LoadPlan } from '../../src/engines/engine.ts'
import {
  computeBytes,
  PROGRAM_BYTES,
  reservedBytes,
  type LoadShape,
} from '../../src/engines/llama-cpp/footprint.ts'
import type { NodeLlamaCppOptions } from '../../src/engines/node-llama-cpp/node-llama-cpp-options.ts'
import { shapeOfPlan } from '../../src/engines/node-llama-cpp/node-llama-cpp-plan.ts'
import { WorkerEngine } from '../../src/engines/worker/worker-engine.ts'
import type { GgufFacts } from '../../src/models/model-facts.ts'
import type { MeasuredMemory } from '../../src/host/memory.ts'
import { ledger, needsOf, promiseOf } from '../../src/pool/policy/budget.ts'
import { makeTinyModel, type TinyModelOptions } from '../models/make-tiny-gguf.ts'
import { ENGINES_DIRECTORY, removeFolder, temporaryFolder } from '../models/paths.ts'
import { reportBuffers } from '../models/report-buffers.ts'
import { workerEntry } from '../worker/worker-fixtures.ts'
import { ask, completion, engine, NEVER, planOf } from './fixtures.ts'

const FILL = 520
const DEADLINE = 120_000

const HALF: TinyModelOptions = {
  type: 'f16',
  dimension: 512,
  layers: 4,
  heads: 8,
  keyValueHeads: 8,
  feedForward: 1536,
  vocabularySize: 8000,
}
const QUARTER: TinyModelOptions = {
  type: 'q4_0',
  dimension: 576,
  layers: 8,
  heads: 9,
  keyValueHeads: 3,
  feedForward: 1536,
  vocabularySize: 24_000,
}
const WIDE: TinyModelOptions = {
  type: 'q8_0',
  dimension: 256,
  layers: 4,
  heads: 4,
  keyValueHeads: 1,
  feedForward: 1024,
  vocabularySize: 64_000,
  tokenizer: 'spm',
}

let folder: string
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(async () => removeFolder(folder))

function modelOf(name: string, shape: TinyModelOptions): string {
  return makeTinyModel(`${folder}/${name}.gguf`, { mode: 'tiled', context: 32_768, ...shape }).path
}

function within(estimate: number, real: number, share: number): void {
  expect(estimate / real).toBeGreaterThan(1 - share)
  expect(estimate / real).toBeLessThan(1 + share)
}

/** Tokens that are evaluated in whole batches: the last piece is short, and touches less. */
function wholeBatches({ batchSize }: LoadShape): number {
  return Math.floor(FILL / batchSize) * batchSize
}

describe('the terms of an estimate against what llama.cpp logs (M4)', () => {
  it.each<[string, TinyModelOptions, { context: number; slots: number } & NodeLlamaCppOptions]>([
    ['f16, 2048 × 1', HALF, { context: 2048, slots: 1 }],
    ['f16, 32768 × 1', HALF, { context: 32_768, slots: 1 }],
    ['f16 without flash attention, 8192 × 1', HALF, { context: 8192, slots: 1, flashAttention: false }],
    ['q4_0 and repacked, 2048 × 4', QUARTER, { context: 2048, slots: 4 }],
    ['q8_0 with a large vocabulary, 8192 × 4', WIDE, { context: 8192, slots: 4 }],
    ['q8_0 with a cache in q8_0, 2048 × 4', WIDE, { context: 2048, slots: 4, kvCacheType: 'q8_0' }],
  ])(
    'are within 10 %: %s',
    async (name, options, { context, slots, ...engineOptions }) => {
      const path = modelOf(name.replaceAll(/\W/g, ''), options)
      const plan = await planOf(path, { context, slots, engineOptions: { ...engineOptions } })
      const shape = shapeOfPlan(plan)
      const gguf = plan.facts.gguf as GgufFacts
      const report = await reportBuffers(path, shape, FILL)
      within(plan.footprint.ram?.weights ?? 0, report.mapped + report.repacked, 0.1)
      within(plan.footprint.ram?.context ?? 0, report.kv, 0.01)
      within(reservedBytes(gguf, shape), report.compute + report.output, 0.1)
      if (report.touched === null) return
      // A slot that is filled in part touches a part of the attention's mask and scores: more than all of it is promised, and not much more.
      const filled = { ...shape, contextSize: Math.ceil(wholeBatches(shape) / 256) * 256 }
      const touched = report.touched + report.output
      expect(touched).toBeLessThan(1.05 * computeBytes(gguf, shape))
      expect(touched).toBeGreaterThan(0.8 * computeBytes(gguf, filled))
    },
    DEADLINE,
  )
})

describe('workers', () => {
  const opened: LoadedModel[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((model) => model.unload()))
  })

  async function work(plan: LoadPlan): Promise<LoadedModel> {
    const workers = new WorkerEngine({
      engine: engine.name,
      inner: engine,
      clock: new SystemClock(),
      entry: workerEntry(),
      engineOptions: { enginesDirectory: ENGINES_DIRECTORY },
    })
    const model = await workers.load(plan, { signal: NEVER, onProgress: () => undefined })
    opened.push(model)
    await model.warmUp(NEVER)
    const prompt = Array.from({ length: FILL }, (_, index) => 10 + (index % 200))
    await ask(model, completion(prompt, { maxTokens: 4 }))
    return model
  }

  async function held(model: LoadedModel): Promise<MeasuredMemory> {
    return (await model.memory()).ram as MeasuredMemory
  }

  it(
    'of one file share its pages and their program’s: booked once and whole, and nothing changes for the other one when the first is gone (R4, M12)',
    async () => {
      const plan = await planOf(modelOf('shared', { ...HALF, layers: 12 }), { context: 2048 })
      const weights = plan.sharedWeights?.bytes ?? 0
      const [first, second] = [await work(plan), await work(plan)]
      const together = [await held(first), await held(second)]
      for (const { shared } of together) within(weights + PROGRAM_BYTES, shared, 0.1)
      const booked =
        ledger(['a', 'b'].map(() => needsOf({ id: 'm', plan } as never, undefined).needs)).ram ?? 0
      const real = together.reduce((sum, each) => sum + each.private, 0) + (together[0]?.shared ?? 0)
      within(booked, real, 0.2)
      await first.unload()
      expect((await held(second)).shared / (together[1]?.shared ?? 0)).toBeCloseTo(1, 1)
    },
    DEADLINE,
  )

  it(
    'are promised what was measured when the same model is loaded again, nearer than the estimate (M4)',
    async () => {
      const plan = await planOf(modelOf('again', { ...QUARTER, layers: 24 }), { context: 8192, slots: 2 })
      const first = await work(plan)
      const measured = await held(first)
      await first.unload()
      const second = await held(await work(plan))
      const promise = promiseOf(plan, { ram: measured }).ram ?? 0
      within(promise, second.private, 0.06)
      expect(promise).toBeLessThanOrEqual(promiseOf(plan, undefined).ram ?? 0)
    },
    DEADLINE,
  )
})
