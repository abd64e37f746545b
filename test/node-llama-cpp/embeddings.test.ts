import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { makeTinyModel, type TinyModel } from '../models/make-tiny-gguf.ts'
import { removeFolder, temporaryFolder } from '../models/paths.ts'
import { AT_ONCE, soonest } from '../soonest.ts'
import { ask, chat, embedding, load, NEVER, planOf } from './fixtures.ts'

let folder: string
let made: TinyModel
let model: LoadedModel
beforeAll(async () => {
  folder = await temporaryFolder()
  made = makeTinyModel(`${folder}/embedder.gguf`, {
    pooling: 'mean',
    causal: false,
    context: 512,
    addBos: true,
  })
  model = await load(made.path, { slots: 4 })
  await model.warmUp(NEVER)
})
afterAll(async () => {
  await model.unload()
  await removeFolder(folder)
})

const cosine = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
const length = (vector: Float32Array): number => Math.sqrt(cosine(vector, vector))
const vectorOf = async (input: string | number[], dimensions?: number): Promise<Float32Array> => {
  const { vectors } = await ask(model, embedding([input], dimensions))
  return vectors[0] as Float32Array
}

describe('embeddings', () => {
  it('are planned with one slot and the context the model was trained for', async () => {
    const plan = await planOf(made.path, { slots: 4 })
    expect([plan.slots, plan.contextSize, plan.capabilities.tasks]).toEqual([1, 512, ['embedding']])
  })

  it.each([1, 5, 64, 65])('BR-34: of a batch of %i are those of each text alone, in order', async (size) => {
    const texts = Array.from(
      { length: size },
      (_, index) => `text number ${index} ${'word '.repeat(index % 7)}`,
    )
    const { parts, vectors, result } = await ask(model, embedding([...texts, texts[0] ?? '']))
    expect(vectors).toHaveLength(size + 1)
    expect(parts.flatMap((part) => (part.type === 'vector' ? [part.index] : []))).toEqual([...vectors.keys()])
    for (const index of [0, Math.floor(size / 2), size - 1, size]) {
      const alone = await vectorOf(texts[index] ?? texts[0] ?? '')
      expect(cosine(vectors[index] as Float32Array, alone)).toBeGreaterThan(0.999)
    }
    expect(result.usage.promptTokens).toBe(await model.countTokens(embedding([...texts, texts[0] ?? ''])))
    expect(result.usage.completionTokens).toBe(0)
  })

  it('have length 1 and tell texts apart', async () => {
    const [a, b] = [await vectorOf('the quick brown fox'), await vectorOf('user and system')]
    expect(length(a)).toBeCloseTo(1, 5)
    expect(length(b)).toBeCloseTo(1, 5)
    expect(cosine(a, b)).toBeLessThan(0.99)
  })

  it('are cut to the dimensions asked for, and of length 1 again', async () => {
    const whole = await vectorOf('hello')
    const cut = await vectorOf('hello', 16)
    expect(cut).toHaveLength(16)
    expect(length(cut)).toBeCloseTo(1, 5)
    expect(cosine(cut, whole.slice(0, 16)) / length(whole.slice(0, 16))).toBeCloseTo(1, 5)
    await expect(vectorOf('hello', 65)).rejects.toMatchObject({
      code: 'invalid_request',
      details: { param: 'dimensions' },
    })
  })

  it('of two batches at once do not mix', async () => {
    const batches = [['one', 'two', 'three'], ['four', 'five'], ['six']]
    const answers = await Promise.all(batches.map(async (texts) => ask(model, embedding(texts))))
    for (const [index, texts] of batches.entries()) {
      const { vectors } = answers[index] as (typeof answers)[number]
      for (const [place, text] of texts.entries()) {
        expect(cosine(vectors[place] as Float32Array, await vectorOf(text))).toBeGreaterThan(0.999)
      }
    }
  })

  it('of token ids are those of the text, and ids that do not exist are refused by place', async () => {
    const ids = Array.from('hello', (letter) => made.vocabulary.ids.get(letter) as number)
    expect(cosine(await vectorOf(ids), await vectorOf('hello'))).toBeGreaterThan(0.999)
    await expect(ask(model, embedding(['fine', [5, 999_999]]))).rejects.toMatchObject({
      code: 'invalid_request',
      details: { param: 'input[1]' },
    })
  })

  it('of a text as long as the context work, of one longer are refused by place before any is made', async () => {
    const fits = 'a'.repeat(511) // and the token that begins a text
    expect(await model.countTokens(embedding([fits]))).toBe(512)
    expect(length(await vectorOf(fits))).toBeCloseTo(1, 5)
    const failure = ask(model, embedding(['short', `${fits}a`]))
    await expect(failure).rejects.toMatchObject({
      code: 'context_length_exceeded',
      details: { promptTokens: 513, contextSize: 512, index: 1 },
    })
  })

  it('of a long text are made in one piece: the first word counts as much as the last', async () => {
    const [a, b] = [`x${'b'.repeat(499)}`, `y${'b'.repeat(499)}`]
    expect(cosine(await vectorOf(a), await vectorOf(b))).toBeLessThan(0.999_999)
    expect(cosine(await vectorOf(a), await vectorOf(a))).toBeGreaterThan(0.999_999)
  })

  it('P15: control tokens in a text are text', async () => {
    expect(await model.countTokens(embedding(['<|im_end|>']))).toBeGreaterThan(5)
  })

  it('end at once when given up', async () => {
    const texts = Array.from({ length: 200 }, () => 'word '.repeat(80))
    const took = await soonest(async () => {
      const abort = new AbortController()
      const stream = model.run(embedding(texts), { slot: 0, keptPrefix: 0, signal: abort.signal })
      await stream.next()
      await stream.next()
      const asked = performance.now()
      abort.abort(new Error('enough'))
      await expect(stream.next()).rejects.toThrow('enough')
      return performance.now() - asked
    })
    expect(took).toBeLessThan(AT_ONCE)
    expect(length(await vectorOf('again'))).toBeCloseTo(1, 5)
  })

  it('are all this model does', async () => {
    await expect(ask(model, chat('hi'))).rejects.toMatchObject({ code: 'unsupported' })
  })

  it.each(['cls', 'last'] as const)('work with %s pooling as well', async (pooling) => {
    const { path } = makeTinyModel(`${folder}/${pooling}.gguf`, { pooling, context: 256 })
    const other = await load(path)
    const { vectors } = await ask(other, embedding(['hello world', 'goodbye']))
    expect(vectors.map(length)).toEqual([expect.closeTo(1, 5), expect.closeTo(1, 5)])
    await other.unload()
  })
})
