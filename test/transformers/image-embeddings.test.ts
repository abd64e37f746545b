import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Yard } from '../../src/yard.ts'
import { BLUE, dataUri, GREEN, png, RED } from '../models/tiny-image.ts'
import { writeMoodModel } from '../models/tiny-onnx.ts'
import { writeImageEncoder, writeSharedSpace } from '../models/tiny-vision-onnx.ts'
import { HAS_TRANSFORMERS, listeningYard } from './fixtures.ts'

interface Answer {
  status: number
  body: {
    data?: { index: number; embedding: number[] }[]
    usage?: object
    error?: { param: string }
  }
}

function cosine(one: ArrayLike<number> | undefined, other: ArrayLike<number> | undefined): number {
  return Array.from(one ?? []).reduce((sum, value, index) => sum + value * (other?.[index] ?? Number.NaN), 0)
}

describe.runIf(HAS_TRANSFORMERS)('E1: embeddings of images on the engine transformers', () => {
  let url = ''
  let yard: Yard
  let close: () => Promise<void>
  beforeAll(async () => {
    ;({ yard, url, close } = await listeningYard((folder) => ({
      clip: { source: writeSharedSpace(join(folder, 'clip')) },
      siglip: { source: writeSharedSpace(join(folder, 'siglip'), 'siglip') },
      dino: { source: writeImageEncoder(join(folder, 'dino')) },
      halves: {
        source: writeImageEncoder(join(folder, 'halves')),
        engine: 'transformers',
        pooling: 'mean',
      },
      mood: {
        source: writeMoodModel(join(folder, 'mood'), { architectures: ['BertModel'] }),
      },
    })))
  })
  afterAll(async () => close())

  async function post(path: string, body: object): Promise<Answer> {
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: answer.status, body: (await answer.json()) as Answer['body'] }
  }

  it('puts texts and images into one space, in the order of the inputs', async () => {
    const { vectors, usage } = await yard.embed({
      model: 'clip',
      input: [
        'red',
        { image: png(40, 20, RED) },
        { text: 'blue' },
        { image: png(3, 5, BLUE) },
        png(8, 8, GREEN),
      ],
    })
    const [redText, red, blueText, blue, green] = vectors
    expect(cosine(redText, red)).toBeGreaterThan(0.99)
    expect(cosine(blueText, blue)).toBeGreaterThan(0.99)
    expect(Math.abs(cosine(redText, blue))).toBeLessThan(0.01)
    expect(cosine(green, green)).toBeCloseTo(1, 5)
    // Two words, and two marks each; images have none.
    expect(usage.promptTokens).toBe(6)
  })

  it('fills texts up where the model was trained so', async () => {
    const { vectors, usage } = await yard.embed({
      model: 'siglip',
      input: ['red', { image: png(2, 2, RED) }],
    })
    // One word, two marks, and thirteen places that are filled up: most of the vector lies on their axis.
    expect(vectors[0]?.[3]).toBeCloseTo(13.03 / Math.hypot(1, 13.03), 4)
    expect(vectors[1]?.[0]).toBeGreaterThan(0.99)
    expect(usage.promptTokens).toBe(3)
  })

  it('takes the state of a whole image, or the mean of all where the model’s entry says so', async () => {
    const image = png(64, 32, RED, BLUE)
    const whole = await yard.embed({ model: 'dino', input: { image } })
    expect(Array.from(whole.vectors[0] ?? [])).toEqual(
      [Math.SQRT1_2, 0, Math.SQRT1_2].map((value) => expect.closeTo(value, 2) as number),
    )
    const left = await yard.embed({ model: 'halves', input: { image: png(64, 32, RED, [0, 0, 0]) } })
    expect(left.vectors[0]?.[0]).toBeCloseTo(1, 5)
  })

  it('answers over HTTP: objects with an image or a text beside texts', async () => {
    const image = dataUri(png(16, 16, RED))
    const { status, body } = await post('/v1/embeddings', {
      model: 'clip',
      input: [{ image }, { text: 'red' }, 'green'],
    })
    expect([status, body.usage]).toEqual([200, { prompt_tokens: 6, total_tokens: 6 }])
    const [seen, red, green] = body.data?.map(({ embedding }) => embedding) ?? []
    expect(cosine(seen, red)).toBeGreaterThan(0.99)
    expect(cosine(seen, green)).toBeLessThan(0.01)
    const short = await post('/v1/embeddings', { model: 'clip', input: { image }, dimensions: 2 })
    expect(short.body.data?.[0]?.embedding).toEqual([
      expect.closeTo(1, 5) as number,
      expect.closeTo(0, 5) as number,
    ])
  })

  it.each<[string, string, unknown, string]>([
    ['an image for a model of texts', 'mood', [{ image: dataUri(png(2, 2, RED)) }], 'input'],
    ['a text for a model of images', 'dino', ['red'], 'input[0]'],
    [
      'half an image',
      'clip',
      ['red', { image: dataUri(png(64, 64, RED).subarray(0, 60)) }],
      'input[1].image',
    ],
    ['half an image alone', 'clip', { image: dataUri(png(64, 64, RED).subarray(0, 60)) }, 'input.image'],
    ['what is no image alone', 'clip', { image: 'data:image/png;base64,aGVsbG8=' }, 'input.image'],
    ['what is no image', 'clip', [{ image: 'data:image/png;base64,aGVsbG8=' }], 'input[0].image'],
    ['an image at an address', 'clip', [{ image: 'https://127.0.0.1/a.png' }], 'input[0].image'],
    ['an empty text', 'clip', [{ text: '' }], 'input[0].text'],
    ['both', 'clip', [{ text: 'red', image: dataUri(png(2, 2, RED)) }], 'input[0]'],
    ['something else', 'clip', ['red', { sound: 'x' }], 'input[1]'],
    ['a text that is too long', 'clip', ['red '.repeat(20)], 'input[0]'],
    ['a text that is too long alone', 'clip', 'red '.repeat(20), 'input'],
    ['a text that is too long in an object', 'clip', ['red', { text: 'red '.repeat(20) }], 'input[1].text'],
  ])('%s is a 400 that names the field', async (_, model, input, param) => {
    const { status, body } = await post('/v1/embeddings', { model, input })
    expect([status, body.error?.param]).toEqual([400, param])
  })

  it.runIf(process.platform === 'linux')(
    'the largest images stay within what was booked (M4, M12)',
    async () => {
      const image = png(7000, 7000, RED)
      await yard.embed({ model: 'clip', input: [{ image }, { image }] })
      const { pid, booked } = yard.state().instances.find(({ model }) => model === 'clip') ?? {}
      const status = await readFile(`/proc/${pid}/status`, 'utf8')
      const peak = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024
      expect(peak).toBeGreaterThan(0)
      expect(peak).toBeLessThan(booked?.ram ?? 0)
    },
  )

  it('images are told apart by labels of one’s own', async () => {
    const { results } = await yard.classify({
      model: 'clip',
      input: [png(8, 8, GREEN), png(8, 8, BLUE)],
      labels: ['red', 'green', 'blue'],
    })
    expect(results.map(([first]) => first?.label)).toEqual(['green', 'blue'])
    expect(results[0]?.reduce((sum, { score }) => sum + score, 0)).toBeCloseTo(1, 6)
    const image = [dataUri(png(8, 8, RED))]
    const asked = { model: 'clip', image, labels: ['blue', 'red'], hypothesis: 'this is {}', top: 1 }
    const { body } = await post('/api/yard/classify', asked)
    expect(body).toMatchObject({
      results: [{ index: 0, labels: [{ label: 'red' }] }],
      // Three words and two marks for each label.
      usage: { prompt_tokens: 10 },
    })
  })

  it.each([
    ['no labels', 'clip', { image: dataUri(png(2, 2, RED)) }, 'labels'],
    ['each alone', 'clip', { image: dataUri(png(2, 2, RED)), labels: ['red'], multiple: true }, 'multiple'],
    ['a text', 'clip', { input: 'red', labels: ['red'] }, 'input[0]'],
    ['half an image', 'clip', { image: dataUri(png(64, 64, RED).subarray(0, 60)), labels: ['red'] }, 'image'],
    [
      'a model that judges each label alone',
      'siglip',
      { image: dataUri(png(2, 2, RED)), labels: ['red'] },
      'model',
    ],
    [
      'one that is too long',
      'clip',
      { image: dataUri(png(2, 2, RED)), labels: ['red', 'red '.repeat(20)] },
      'labels[1]',
    ],
    [
      'a sentence that is too long',
      'clip',
      { image: dataUri(png(2, 2, RED)), labels: ['red'], hypothesis: `${'this '.repeat(20)}{}` },
      'hypothesis',
    ],
    [
      'one that is too long where it is said often',
      'clip',
      { image: dataUri(png(2, 2, RED)), labels: ['red '.repeat(4)], hypothesis: '{} '.repeat(6) },
      'hypothesis',
    ],
  ])('labels with %s are a 400 that names the field', async (_, model, body, param) => {
    expect(await post('/api/yard/classify', { model, ...body })).toMatchObject({
      status: 400,
      body: { error: { details: { param } } },
    })
  })
})
