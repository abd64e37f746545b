import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createJiti } from 'jiti'
import { ROOT } from './server.mjs'

const source = createJiti(import.meta.url)
const load = (path) => source.import(join(ROOT, path))

const SHAPES = {
  '68 MiB f16': {
    type: 'f16',
    dimension: 512,
    layers: 8,
    heads: 8,
    keyValueHeads: 8,
    feedForward: 1536,
    vocabularySize: 8000,
  },
  '40 MiB q4_0, 128,000 tokens': {
    type: 'q4_0',
    dimension: 256,
    layers: 4,
    heads: 4,
    keyValueHeads: 1,
    feedForward: 1024,
    vocabularySize: 128_000,
    tokenizer: 'spm',
  },
  '88 MiB q4_0': {
    type: 'q4_0',
    dimension: 576,
    layers: 30,
    heads: 9,
    keyValueHeads: 3,
    feedForward: 1536,
    vocabularySize: 49_152,
  },
  '250 MiB q8_0': {
    type: 'q8_0',
    dimension: 1024,
    layers: 16,
    heads: 16,
    keyValueHeads: 4,
    feedForward: 2816,
    vocabularySize: 32_000,
    tokenizer: 'spm',
  },
  '1 GiB f16': {
    type: 'f16',
    dimension: 1536,
    layers: 13,
    heads: 12,
    keyValueHeads: 4,
    feedForward: 4096,
    vocabularySize: 64_000,
    tokenizer: 'spm',
  },
}
const LOADS = [
  { context: 2048, slots: 1 },
  { context: 2048, slots: 4, engineOptions: { kvCacheType: 'q8_0' } },
  { context: 8192, slots: 4 },
  { context: 32_768, slots: 1 },
]
/** Tokens of the longest prompt: two batches and a bit. */
const FILL = 560

const percent = (estimate, real) => (real === null ? '?' : `${(100 * (estimate / real - 1)).toFixed(1)} %`)
const mib = (bytes) => (bytes === null ? '?' : (bytes / 1024 ** 2).toFixed(0))
const pair = (estimate, real) => `${mib(estimate)} / ${mib(real)} (${percent(estimate, real)})`

/** The plan's terms against llama.cpp's log and mappings. */
async function termsOf(path, plan) {
  const { reportBuffers } = await load('test/models/report-buffers.ts')
  const { shapeOfPlan } = await load('src/engines/node-llama-cpp/node-llama-cpp-plan.ts')
  const { computeBytes, reservedBytes } = await load('src/engines/llama-cpp/footprint.ts')
  const shape = shapeOfPlan(plan)
  const { gguf } = plan.facts
  const report = await reportBuffers(path, shape, FILL)
  const filled = Math.floor(FILL / shape.batchSize) * shape.batchSize
  const touchedShape = { ...shape, contextSize: Math.min(shape.contextSize, Math.ceil(filled / 256) * 256) }
  const touched = report.touched === null ? null : report.touched + report.output
  return [
    pair(plan.footprint.ram.weights, report.mapped + report.repacked),
    pair(plan.footprint.ram.context, report.kv),
    pair(computeBytes(gguf, touchedShape), touched),
    pair(reservedBytes(gguf, shape), report.compute + report.output),
  ]
}

/** A worker as the server runs it, after a long prompt on every slot: what it holds, shared pages counted whole. */
async function measuredOf(path, plan) {
  const { WorkerEngine } = await load('src/engines/worker/worker-engine.ts')
  const { NodeLlamaCppEngine } = await load('src/engines/node-llama-cpp/node-llama-cpp-engine.ts')
  const { SystemClock } = await load('src/base/clock.ts')
  const { ask, completion } = await load('test/node-llama-cpp/fixtures.ts')
  const enginesDirectory = join(ROOT, '.cache/home/engines')
  const inner = new NodeLlamaCppEngine({ enginesDirectory })
  const engine = new WorkerEngine({
    engine: inner.name,
    inner,
    clock: new SystemClock(),
    entry: join(ROOT, 'dist/worker.js'),
    engineOptions: { enginesDirectory },
  })
  const model = await engine.load(plan, { signal: new AbortController().signal, onProgress: () => undefined })
  await model.warmUp(new AbortController().signal)
  const prompt = Array.from({ length: FILL }, (_, index) => 10 + (index % 200))
  const asked = Array.from({ length: plan.slots }, (_, slot) => slot)
  await ask(model, completion(prompt, { maxTokens: 4 }), { slot: 0 })
  await Promise.all(
    asked.map(async (slot) => ask(model, completion([10, 11, 12], { maxTokens: 8 }), { slot })),
  )
  const { ram } = await model.memory()
  await model.unload()
  return ram
}

async function wholeOf(path, plan) {
  const { needsOf } = await load('src/pool/policy/budget.ts')
  const first = await measuredOf(path, plan)
  const second = await measuredOf(path, plan)
  const needs = (learned) => needsOf({ id: plan.model, plan }, learned).needs.total
  const sum = ({ private: own, shared: mapped }) => own + mapped
  return [pair(needs(undefined), sum(first)), pair(needs({ ram: first }), sum(second))]
}

/** What plans promise against what llama.cpp logs, what was touched, and what workers hold (M4). Bytes do not depend on the machine's load. */
export async function benchEstimate() {
  const { makeTinyModel } = await load('test/models/make-tiny-gguf.ts')
  const { planOf } = await load('test/node-llama-cpp/fixtures.ts')
  const folder = mkdtempSync(join(tmpdir(), 'modelyard-estimate-'))
  console.log(
    'MiB, estimate / real (error). Weights, KV and reserved are compared with the log, touched with the process’s mappings.',
  )
  console.log(
    '| model | context × slots | weights | KV | compute, touched | compute, reserved | whole, first load | whole, second load |',
  )
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- |')
  try {
    for (const [name, shape] of Object.entries(SHAPES)) {
      const path = join(folder, 'model.gguf')
      makeTinyModel(path, { mode: 'tiled', context: 32_768, ...shape })
      for (const changes of LOADS) {
        const plan = await planOf(path, changes)
        const type = changes.engineOptions?.kvCacheType ?? 'f16'
        const cells = [
          name,
          `${changes.context} × ${changes.slots} ${type}`,
          ...(await termsOf(path, plan)),
          ...(await wholeOf(path, plan)),
        ]
        console.log(`| ${cells.join(' | ')} |`)
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
