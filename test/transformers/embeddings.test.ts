import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { ask, embedding, NEVER } from '../node-llama-cpp/fixtures.ts'
import { HAS_TRANSFORMERS, inWorker, planOf, pulled, transformersEngine } from './fixtures.ts'

const path = HAS_TRANSFORMERS ? await pulled('minilm-onnx') : undefined

function cosine(a: Float32Array | undefined, b: Float32Array | undefined): number {
  if (a === undefined || b === undefined) throw new Error('a vector is missing')
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
}

describe.runIf(path !== undefined)('MiniLM through transformers.js, in a worker', () => {
  let model: LoadedModel
  beforeAll(async () => {
    const engine = inWorker(transformersEngine())
    model = await engine.load(await planOf(engine, path ?? ''), {
      signal: NEVER,
      onProgress: () => undefined,
    })
  }, 120_000)
  afterAll(() => model.unload())

  it('puts what means the same near each other, and what does not far apart', async () => {
    const { vectors } = await ask(
      model,
      embedding([
        'How do I bake bread?',
        'What is the recipe for a loaf of bread?',
        'The stock market fell today.',
      ]),
    )
    const [question, same, other] = vectors
    expect(cosine(question, question)).toBeCloseTo(1, 5)
    expect(cosine(question, same)).toBeGreaterThan(0.6)
    expect(cosine(question, other)).toBeLessThan(0.2)
  })

  it('gives the same vector alone and among others', async () => {
    const { vectors } = await ask(model, embedding(['one', 'two words', 'three words here']))
    const alone = await ask(model, embedding(['two words']))
    expect(cosine(vectors[1], alone.vectors[0])).toBeCloseTo(1, 6)
  })

  it('cuts vectors to the dimensions asked for and makes their length 1 again', async () => {
    const { vectors } = await ask(model, embedding(['one'], 64))
    expect(vectors[0]?.length).toBe(64)
    expect(cosine(vectors[0], vectors[0])).toBeCloseTo(1, 5)
    await expect(ask(model, embedding(['one'], 385))).rejects.toMatchObject({
      code: 'invalid_request',
      details: { param: 'dimensions' },
    })
  })

  it('counts the tokens of all inputs, marks included', async () => {
    const task = embedding(['one', 'two words'])
    const { result } = await ask(model, task)
    expect(result.usage.promptTokens).toBe(7)
    expect(await model.countTokens(task)).toBe(7)
  })

  it('names the input that is too long, with both numbers, and evaluates none', async () => {
    await expect(ask(model, embedding(['short', 'word '.repeat(600)]))).rejects.toMatchObject({
      code: 'context_length_exceeded',
      details: { promptTokens: 602, contextSize: 512, index: 1, param: 'input[1]' },
    })
  })

  it('holds about as much memory as was estimated (M4, M12)', async () => {
    const { ram } = await model.memory()
    const terms = model.plan.footprint.ram
    const estimate = terms === undefined ? 0 : terms.base + terms.weights + terms.compute
    const measured = (ram?.private ?? 0) + (ram?.shared ?? 0)
    expect(measured).toBeGreaterThan(estimate * 0.5)
    expect(measured).toBeLessThan(estimate * 1.1)
  })
})
