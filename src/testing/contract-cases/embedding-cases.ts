import assert from 'node:assert/strict'
import type { LoadedModel } from '../../engines/engine.ts'
import type { EmbeddingTask } from '../../tasks/embedding-task.ts'
import type { ContractBench } from '../contract-bench.ts'
import type { ContractCheck } from '../contract-check.ts'
import type { EngineContractSubject } from '../contract-subject.ts'

type Embedding = NonNullable<EngineContractSubject['embedding']>

async function withEmbedder(
  bench: ContractBench,
  use: (model: LoadedModel, embedding: Embedding) => Promise<void>,
): Promise<void> {
  const { embedding } = bench.subject
  assert(embedding !== undefined)
  const model = await bench.load(await embedding.plan())
  try {
    await use(model, embedding)
  } finally {
    await model.unload()
  }
}

async function vectorsOf(
  bench: ContractBench,
  model: LoadedModel,
  task: EmbeddingTask,
): Promise<Float32Array[]> {
  const { parts } = await bench.run(model, task)
  const vectors = parts.flatMap((part) => (part.type === 'vector' ? [part] : []))
  assert.deepEqual(
    vectors.map(({ index }) => index),
    task.inputs.map((_, index) => index),
  )
  return vectors.map(({ vector }) => vector)
}

function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
}

export const embeddingCases: readonly ContractCheck[] = [
  {
    name: 'gives one vector of length 1 per input, in order, the same as alone (BR-34)',
    needs: 'embedding',
    async check(bench) {
      await withEmbedder(bench, async (model, { task, dimensions }) => {
        const vectors = await vectorsOf(bench, model, task)
        for (const [index, vector] of vectors.entries()) {
          assert.equal(vector.length, dimensions)
          assert(Math.abs(cosine(vector, vector) - 1) < 1e-3)
          const [alone] = await vectorsOf(bench, model, {
            ...task,
            inputs: task.inputs.slice(index, index + 1),
          })
          assert(alone !== undefined && cosine(vector, alone) > 0.999)
        }
        assert(cosine(vectors[0] ?? new Float32Array(), vectors[1] ?? new Float32Array()) < 0.9999)
      })
    },
  },
  {
    name: 'counts the tokens of all inputs',
    unless: 'tokenizes',
    needs: 'embedding',
    async check(bench) {
      await withEmbedder(bench, async (model, { task }) => {
        const { parts, result } = await bench.run(model, task)
        const [started] = parts
        assert(started?.type === 'started')
        assert.equal(started.promptTokens, await model.countTokens(task))
        assert.equal(result.usage.promptTokens, started.promptTokens)
        assert.equal(result.usage.completionTokens, 0)
      })
    },
  },
]
